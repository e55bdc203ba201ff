package conformance

import (
	"net/http"
)

var tables = []statement{
	{"a Table of a list has a column Name and a row for each object", tableOfList},
	{"each row has as many cells as there are columns", tableCells},
	{"a row's object is its metadata, with name and namespace", tableRowObject},
	{"the Table of an empty list has columns and rows []", emptyTable},
	{"a Table is paged like a list", tablePages},
	{"v1beta1 gives a Table of that version", tableBeta},
	{"a version of Table that does not exist is 406, unless there is another clause", tableVersions},
	{"a Table of one object has one row and the object's resourceVersion", tableOfObject},
	{"includeObject=None leaves the objects out", includeNone},
	{"includeObject=Object puts in the whole objects", includeObject},
	{"another includeObject is 400", includeBogus},
	{"a Table has the age of an object", tableAge},
	{"a watch as Table sends Tables of one row, the columns in the first event only", tableWatch},
	{"a bookmark of a watch as Table is a Table with the resourceVersion", tableBookmark},
	{"an error of a watch as Table is a Status", tableWatchError},
}

func (w collection) table(rest string) object {
	w.c.t.Helper()
	a := w.c.get(w.path(rest), "Accept", as1("Table"))
	table := a.ok(http.StatusOK)
	w.c.equal("Content-Type", a.header.Get("Content-Type"), "application/json")
	w.c.wantTable(table)
	return table
}

func (c *check) wantTable(table object) {
	c.t.Helper()
	if got := table.text("kind") + " " + table.text("apiVersion"); got != "Table meta.k8s.io/v1" {
		c.Fatalf("kind and apiVersion: %s", got)
	}
	if table.rv() == 0 {
		c.Errorf("the table has no resourceVersion")
	}
}

// firstCells returns the cells of the first column.
func firstCells(table object) []any {
	out := []any{}
	for _, row := range table.list("rows") {
		cells, _ := row.at("cells").([]any)
		out = append(out, append(cells, nil)[0])
	}
	return out
}

func tableOfList(c *check) {
	w := c.simple()
	w.five()
	table := w.table("")
	columns := table.list("columnDefinitions")
	if len(columns) == 0 {
		c.Fatalf("no columns")
	}
	c.equal("first column", columns[0].text("name")+" "+columns[0].text("type")+" "+columns[0].text("format"), "Name string name")
	c.equal("first cells", firstCells(table), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
}

func tableCells(c *check) {
	for _, w := range c.each() {
		w.create("w-a", "red", nil)
		table := w.table("")
		columns := table.list("columnDefinitions")
		for _, row := range table.list("rows") {
			cells, _ := row.at("cells").([]any)
			c.equal("cells of "+w.plural, len(cells), len(columns))
		}
		for _, column := range columns {
			if column.text("name") == "" || column.text("type") == "" || !column.has("priority") || !column.has("format") || !column.has("description") {
				c.Errorf("column of %s: %v", w.plural, column)
			}
		}
	}
}

func tableRowObject(c *check) {
	w := c.simple()
	w.create("w-a", "red", object{"l": "a"})
	for _, rest := range []string{"", "?includeObject=Metadata", "?includeObject="} {
		rows := w.table(rest).list("rows")
		if len(rows) != 1 {
			c.Fatalf("rows: %v", rows)
		}
		row, _ := rows[0].at("object").(map[string]any)
		c.wantMetadata(row)
		c.equal("namespace", object(row).text("metadata.namespace"), c.ns)
		c.equal("label", object(row).text("metadata.labels.l"), "a")
	}
}

func emptyTable(c *check) {
	table := c.simple().table("")
	rows, isArray := table.at("rows").([]any)
	if !isArray || len(rows) > 0 || len(table.list("columnDefinitions")) == 0 {
		c.Errorf("%v", table)
	}
}

func tablePages(c *check) {
	w := c.simple()
	w.five()
	first := w.table("?limit=2")
	c.equal("remainingItemCount", first.text("metadata.remainingItemCount"), "3")
	rest := w.table(query("continue", first.text("metadata.continue")))
	c.equal("cells", append(firstCells(first), firstCells(rest)...), []string{"w-a", "w-b", "w-c", "w-d", "w-e"})
	c.equal("resourceVersion", rest.version(), first.version())
}

func tableBeta(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	table := c.get(w.path(""), "Accept", "application/json;as=Table;v=v1beta1;g=meta.k8s.io").ok(http.StatusOK)
	c.equal("apiVersion", table.text("apiVersion"), "meta.k8s.io/v1beta1")
	for _, row := range table.list("rows") {
		c.equal("apiVersion of the row's object", row.text("object.apiVersion"), "meta.k8s.io/v1beta1")
	}
}

func tableVersions(c *check) {
	w := c.simple()
	const v2 = "application/json;as=Table;v=v2;g=meta.k8s.io"
	c.equal("code", c.get(w.path(""), "Accept", v2).code, http.StatusNotAcceptable)
	c.equal("code of an unknown form", c.get(w.path(""), "Accept", as1("Bogus")).code, http.StatusNotAcceptable)
	c.equal("kind", c.get(w.path(""), "Accept", v2+",application/json").ok(http.StatusOK).text("kind"), w.kind+"List")
}

func tableOfObject(c *check) {
	w := c.simple()
	made := w.create("w-a", "red", nil)
	table := w.table("/w-a")
	c.equal("cells", firstCells(table), []string{"w-a"})
	c.equal("resourceVersion", table.version(), made.version())
}

func includeNone(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, row := range w.table("?includeObject=None").list("rows") {
		if row.at("object") != nil {
			c.Errorf("row: %v", row)
		}
	}
}

func includeObject(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	for _, row := range w.table("?includeObject=Object").list("rows") {
		c.equal("color", row.text("object."+w.color), "red")
		c.equal("kind", row.text("object.kind"), w.kind)
	}
}

func includeBogus(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	c.get(w.path("?includeObject=Bogus"), "Accept", as1("Table")).refused(http.StatusBadRequest, "BadRequest")
}

func tableAge(c *check) {
	for _, w := range c.each() {
		w.create("w-a", "red", nil)
		table, age := w.table(""), -1
		for i, column := range table.list("columnDefinitions") {
			if column.text("name") == "Age" {
				age = i
			}
		}
		if age < 0 {
			c.Fatalf("%s: no column Age", w.plural)
		}
		cells, _ := table.list("rows")[0].at("cells").([]any)
		if text, isText := cells[age].(string); !isText || text == "" || text[len(text)-1] != 's' {
			c.Errorf("%s: Age is %v", w.plural, cells[age])
		}
	}
}

func tableWatch(c *check) {
	w := c.simple()
	w.create("w-a", "red", nil)
	s := c.stream(w.path("?watch=1"), "Accept", as1("Table"))
	c.equal("Content-Type", s.response.Header.Get("Content-Type"), "application/json")
	first := s.next()
	c.wantTable(first.object)
	c.equal("first row", first.kind+" "+tell(firstCells(first.object)), "ADDED w-a")
	if len(first.object.list("columnDefinitions")) == 0 {
		c.Errorf("the first event has no columns: %s", first.line)
	}
	painted := w.paint("w-a", "blue")
	second := s.next()
	c.wantTable(second.object)
	c.equal("second row", second.kind+" "+tell(firstCells(second.object)), "MODIFIED w-a")
	c.equal("resourceVersion", second.object.version(), painted.version())
	if len(second.object.list("columnDefinitions")) != 0 {
		c.Errorf("the second event repeats the columns: %s", second.line)
	}
	c.equal("object of the row", second.object.list("rows")[0].text("object.kind"), "PartialObjectMetadata")
	w.remove("w-a", "", nil).ok(http.StatusOK)
	third := s.next()
	c.equal("third row", third.kind+" "+tell(firstCells(third.object)), "DELETED w-a")
}

func tableBookmark(c *check) {
	w := c.simple()
	s := c.stream(w.path("?watch=1&allowWatchBookmarks=true"), "Accept", as1("Table"))
	mark := s.next()
	c.equal("type", mark.kind, "BOOKMARK")
	c.wantTable(mark.object)
	rows := mark.object.list("rows")
	if len(rows) != 1 {
		c.Fatalf("rows: %v", rows)
	}
	c.equal("kind of the row's object", rows[0].text("object.kind"), "PartialObjectMetadata")
	c.equal("resourceVersion of the row's object", rows[0].text("object.metadata.resourceVersion"), mark.object.version())
	c.equal("end of the initial events", rows[0].text("object.metadata.annotations", endAnnotation), "true")
}

func tableWatchError(c *check) {
	path := c.simple().path(query("watch", "1", "sendInitialEvents", "true", "resourceVersionMatch", "NotOlderThan", "resourceVersion", farRevision))
	failure := c.stream(path, "Accept", as1("Table")).next()
	c.equal("type", failure.kind, "ERROR")
	c.wantStatus(failure.object, http.StatusGatewayTimeout, "Timeout")
}

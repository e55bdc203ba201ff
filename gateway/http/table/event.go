package table

import (
	"strings"
	"time"
)

// eventColumns are for both kinds of event, which have different names for the same fields.
var eventColumns = Columns{
	ageSince("Last Seen", "How long ago it was last seen.", lastSeen),
	textColumn("Type", "Normal or Warning.", "", "type"),
	textColumn("Reason", "Why it was reported, in one word.", "", "reason"),
	stringColumn("Object", "What it is about.", func(o jsonValue) string {
		about := firstOf(o, []string{"involvedObject"}, []string{"regarding"})
		return strings.ToLower(about.at("kind").text()) + "/" + about.at("name").text()
	}),
	wide(stringColumn("Subobject", "The part of the object it is about.", func(o jsonValue) string {
		return firstOf(o, []string{"involvedObject", "fieldPath"}, []string{"regarding", "fieldPath"}).text()
	})),
	wide(stringColumn("Source", "Who reported it.", eventSource)),
	stringColumn("Message", "What happened, for people to read.", func(o jsonValue) string {
		return strings.TrimSpace(firstOf(o, []string{"message"}, []string{"note"}).text())
	}),
	wide(ageSince("First Seen", "How long ago it was first seen.", firstSeen)),
	wide(column{name: "Count", kind: "integer", description: "How often it was seen.", cell: func(o jsonValue, _ time.Time) any {
		return max(1, firstOf(o, []string{"series", "count"}, []string{"count"}, []string{"deprecatedCount"}).count(1))
	}}),
	wide(nameColumn),
}

// firstOf returns the value at the first of several paths that has one.
func firstOf(o jsonValue, paths ...[]string) jsonValue {
	for _, path := range paths {
		if v := o.at(path...); v.exists() && v.value != "" {
			return v
		}
	}
	return jsonValue{}
}

func ageSince(name, description string, at func(o jsonValue) time.Time) column {
	return column{name: name, kind: "string", description: description, cell: func(o jsonValue, now time.Time) any { return ageOf(at(o), now) }}
}

func firstSeen(o jsonValue) time.Time {
	return firstOf(o, []string{"firstTimestamp"}, []string{"deprecatedFirstTimestamp"}, []string{"eventTime"}).time()
}

func lastSeen(o jsonValue) time.Time {
	last := firstOf(o, []string{"series", "lastObservedTime"}, []string{"lastTimestamp"}, []string{"deprecatedLastTimestamp"}).time()
	if last.IsZero() {
		return firstSeen(o)
	}
	return last
}

func eventSource(o jsonValue) string {
	source := firstOf(o, []string{"source"}, []string{"deprecatedSource"})
	who, where := source.at("component").text(), source.at("host").text()
	if who == "" {
		who = firstOf(o, []string{"reportingComponent"}, []string{"reportingController"}).text()
		where = o.at("reportingInstance").text()
	}
	if where == "" {
		return who
	}
	return who + ", " + where
}

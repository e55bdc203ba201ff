//go:build unix

package gatewaytest_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"

	"revtail/gateway/gatewaytest"
)

// TestConsolePictures makes the pictures of the page's states, light and dark: -artifacts keeps them. Each shows what its name says.
func TestConsolePictures(t *testing.T) {
	t.Parallel()
	gatewaytest.NeedBrowser(t)
	gw := gatewaytest.Start(t)
	const pods = "/api/v1/namespaces/shop/pods"
	for i, app := range []string{"api", "cart", "checkout", "search", "web"} {
		for n := range 3 {
			name := fmt.Sprintf("%s-7c9d8-%c", app, 'k'+n)
			gw.Create(t, pods, fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"labels":{"app":%q,"version":"1.4.2"}},`+
				`"spec":{"containers":[{"name":%[2]q,"image":"registry.example/%[2]s:1.4.2"}]}}`, name, app))
			ready := i != 2 || n != 1
			phase := map[bool]string{true: "Running", false: "Pending"}[ready]
			gw.Patch(t, pods+"/"+name+"/status", fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[{"name":%q,"ready":%t,"restartCount":%d,"image":"i","imageID":"i","state":{"running":{}}}]}}`, phase, app, ready, i*n%3))
		}
		gw.Create(t, configMaps, gatewaytest.ConfigMap(app, "blue"))
	}
	p := gatewaytest.OpenPage(t, gw.URL+"/ui/#resource=/api/v1/pods&namespace=shop", 1360, 850)
	p.Resize(t, 1360, 850)
	p.Wait(t, isLive+" && "+rows+" > 12")
	gw.Patch(t, pods+"/web-7c9d8-l", `{"metadata":{"labels":{"version":"1.4.3"}}}`)
	gw.Patch(t, pods+"/cart-7c9d8-m", `{"metadata":{"labels":{"version":"1.4.3"},"annotations":{"example.org/build":"42"}}}`)
	gw.Patch(t, pods+"/checkout-7c9d8-l/status", `{"status":{"phase":"Running","containerStatuses":[{"name":"checkout","ready":true,"restartCount":1,"image":"i","imageID":"i","state":{"running":{}}}]}}`)
	gw.Do(t, http.MethodDelete, pods+"/search-7c9d8-m", "")
	p.Wait(t, "document.querySelectorAll('.event').length === 4")

	shoot := func(name string) {
		t.Helper()
		for _, scheme := range []string{"light", "dark"} {
			p.Prefer(t, scheme)
			p.Eval(t, "document.getAnimations().filter((each) => each.effect.getTiming().iterations === 1).forEach((each) => each.finish())")
			p.Screenshot(t, filepath.Join(t.ArtifactDir(), name+"-"+scheme+".png"))
		}
	}
	shoot("live")
	p.Click(t, ".row[data-id='shop/cart-7c9d8-m']")
	p.Wait(t, opened+" === 'shop/cart-7c9d8-m'")
	p.Click(t, "#object [role=tab]:nth-of-type(3)")
	p.Wait(t, "document.querySelector('#object').textContent.includes('1.4.3')")
	p.Eval(t, "document.activeElement.blur()")
	shoot("object")
	p.Press(t, "m")
	p.Click(t, "#object [role=tab]:nth-of-type(5)")
	p.Wait(t, "document.querySelector('#object').textContent.includes('differ')")
	shoot("compare")
	p.Press(t, "m")
	p.Press(t, "[")
	p.Press(t, "[")
	p.Wait(t, isPast+" && document.querySelector('.row.differs')")
	shoot("past")
	p.Press(t, ":")
	p.Press(t, "p")
	p.Wait(t, "document.querySelectorAll('#palette-list li').length > 2")
	shoot("palette")
	p.Press(t, "Escape")
	p.Press(t, "0")
	p.Wait(t, isLive)
	p.Resize(t, 390, 844)
	p.Press(t, "s")
	shoot("phone-table")
	p.Press(t, "g")
	shoot("phone-lists")
	if errors := p.Errors(); errors != nil {
		t.Errorf("the page has had errors: %s", errors)
	}
}

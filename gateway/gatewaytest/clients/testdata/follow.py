"""Lists the ConfigMaps in pages, watches from there, and goes on after any end of the connection. Prints what it sees."""

import sys
import time

from kubernetes import client, watch
from urllib3.exceptions import HTTPError


def say(what, m):
    print(what, m.metadata.name, m.data["value"], m.metadata.resource_version, flush=True)


def pages(maps):
    """Lists in pages of two, and returns the revision of the list."""
    more = None
    while True:
        page = maps("default", limit=2, _continue=more) if more else maps("default", limit=2)
        for m in page.items:
            say("LISTED", m)
        more = page.metadata._continue
        if not more:
            return page.metadata.resource_version


def follow(maps, revision):
    """Watches until the revision is too old."""
    watcher = watch.Watch()
    while True:
        try:
            for event in watcher.stream(maps, "default", resource_version=revision):
                say(event["type"], event["object"])
                revision = event["object"].metadata.resource_version
        except HTTPError:
            print("lost", file=sys.stderr)
        except client.ApiException as e:
            print(e, file=sys.stderr)
            if e.status == 410:
                return
        time.sleep(0.05)


core = client.CoreV1Api(client.ApiClient(client.Configuration(host=sys.argv[1])))
while True:
    follow(core.list_namespaced_config_map, pages(core.list_namespaced_config_map))

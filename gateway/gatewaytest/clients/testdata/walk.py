"""Writes and reads with the official client, and prints what it is told. Standard input says when etcd is compacted."""

import sys
import time

from kubernetes import client, watch

SHIRTS = {"group": "example.com", "version": "v1", "namespace": "default", "plural": "shirts"}


def say(*words):
    print(*words, flush=True)


def refused(call, *args, **kwargs):
    """Prints what an ApiException says of a call that the server refuses."""
    try:
        call(*args, **kwargs)
        say("NOT REFUSED")
    except client.ApiException as e:
        status = api.deserialize(type("Response", (), {"data": e.body}), "V1Status")
        say(e.status, e.reason, status.reason, status.code, e.headers["Content-Type"])


def config_map(name, value):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"value": value})  # without kind, as in the client's examples


def config_maps():
    core = client.CoreV1Api(api)
    say("empty", core.list_namespaced_config_map("default").items)
    for i in range(5):
        created = core.create_namespaced_config_map("default", config_map(f"m{i}", "1"))
    say("created", created.kind, created.metadata.name, created.data, created.metadata.creation_timestamp.tzinfo is not None)
    say("merged", core.patch_namespaced_config_map("m0", "default", {"data": {"value": "2"}}).data)
    test = [{"op": "replace", "path": "/data/value", "value": "3"}]
    say("patched", core.patch_namespaced_config_map("m0", "default", test).data)
    created.data = {"value": "4"}
    say("replaced", core.replace_namespaced_config_map("m4", "default", created).data)
    refused(core.replace_namespaced_config_map, "m4", "default", created)
    refused(core.create_namespaced_config_map, "default", config_map("m0", "1"))
    refused(core.read_namespaced_config_map, "absent", "default")
    deleted = core.delete_namespaced_config_map("m1", "default")
    say("deleted", deleted.status, deleted.details.name)
    refused(core.delete_namespaced_config_map, "m1", "default")
    expire(core)


def expire(core):
    page = core.list_namespaced_config_map("default", limit=3)
    say("page", [m.metadata.name for m in page.items], page.metadata.remaining_item_count)
    rest = core.list_namespaced_config_map("default", limit=3, _continue=page.metadata._continue)
    say("page", [m.metadata.name for m in rest.items], rest.metadata.remaining_item_count, rest.metadata._continue)
    say("same revision", rest.metadata.resource_version == page.metadata.resource_version)
    core.patch_namespaced_config_map("m0", "default", {"data": {"value": "5"}})
    say("COMPACT")
    sys.stdin.readline()
    refused(core.list_namespaced_config_map, "default", limit=3, _continue=page.metadata._continue)
    refused(core.list_namespaced_config_map, "default", resource_version="2", resource_version_match="Exact")


def deployments():
    apps = client.AppsV1Api(api)
    labels = {"app": "web"}
    apps.create_namespaced_deployment("default", client.V1Deployment(
        metadata=client.V1ObjectMeta(name="web"),
        spec=client.V1DeploymentSpec(
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")])))))
    say("scaled", apps.patch_namespaced_deployment_scale("web", "default", {"spec": {"replicas": 3}}).spec.replicas)
    status = {"status": {"replicas": 3, "readyReplicas": 3, "availableReplicas": 3}}
    say("available", apps.patch_namespaced_deployment_status("web", "default", status).status.available_replicas)
    # Merged by name, as strategic patches are: the image stays.
    environment = [{"name": "web", "env": [{"name": "A", "value": "B"}]}]
    patched = apps.patch_namespaced_deployment("web", "default", {"spec": {"template": {"spec": {"containers": environment}}}})
    container = patched.spec.template.spec.containers[0]
    say("container", container.image, container.env[0].value, patched.spec.replicas)
    say("deleted", apps.delete_namespaced_deployment("web", "default", propagation_policy="Background").status)


def custom_objects():
    schema = client.V1JSONSchemaProps(type="object", properties={
        "spec": client.V1JSONSchemaProps(type="object", properties={"size": client.V1JSONSchemaProps(type="integer", minimum=1)})})
    client.ApiextensionsV1Api(api).create_custom_resource_definition(client.V1CustomResourceDefinition(
        api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition",
        metadata=client.V1ObjectMeta(name="shirts.example.com"),
        spec=client.V1CustomResourceDefinitionSpec(
            group="example.com", scope="Namespaced",
            names=client.V1CustomResourceDefinitionNames(plural="shirts", singular="shirt", kind="Shirt"),
            versions=[client.V1CustomResourceDefinitionVersion(
                name="v1", served=True, storage=True, schema=client.V1CustomResourceValidation(open_apiv3_schema=schema))])))
    established()
    shirts = client.CustomObjectsApi(api)
    shirt = {"apiVersion": "example.com/v1", "kind": "Shirt", "metadata": {"name": "blue"}, "spec": {"size": 1}}
    created = shirts.create_namespaced_custom_object(body=shirt, **SHIRTS)
    shirts.patch_namespaced_custom_object(name="blue", body={"spec": {"size": 2}}, **SHIRTS)
    refused(shirts.patch_namespaced_custom_object, name="blue", body={"spec": {"size": 0}}, **SHIRTS)
    shirts.delete_namespaced_custom_object(name="blue", **SHIRTS)
    watcher, revision = watch.Watch(), created["metadata"]["resourceVersion"]
    for event in watcher.stream(shirts.list_namespaced_custom_object, resource_version=revision, **SHIRTS):
        say(event["type"], event["object"]["kind"], event["object"]["spec"])
        if event["type"] == "DELETED":
            watcher.stop()


def established():
    """Returns when the definition is served."""
    definitions = client.ApiextensionsV1Api(api)
    while True:
        status = definitions.read_custom_resource_definition("shirts.example.com").status
        if any(c.type == "Established" and c.status == "True" for c in status and status.conditions or []):
            return
        time.sleep(0.05)


api = client.ApiClient(client.Configuration(host=sys.argv[1]))
config_maps()
deployments()
custom_objects()

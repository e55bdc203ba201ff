// What a new object begins with: the fields that its kind requires, and what is useful of the kinds that people make by hand.

import { get } from './api.js'

const web = { app: 'web' }
const pod = { containers: [{ name: 'web', image: 'nginx' }] }
const template = { metadata: { labels: web }, spec: pod }
const bodies = {
  ConfigMap: { data: { key: 'value' } },
  Secret: { stringData: { key: 'value' } },
  Service: { spec: { selector: web, ports: [{ port: 80 }] } },
  Pod: { spec: pod },
  Deployment: { spec: { replicas: 1, selector: { matchLabels: web }, template } },
  ReplicaSet: { spec: { replicas: 1, selector: { matchLabels: web }, template } },
  DaemonSet: { spec: { selector: { matchLabels: web }, template } },
  StatefulSet: { spec: { serviceName: 'web', selector: { matchLabels: web }, template } },
  Job: { spec: { template: { spec: { ...pod, restartPolicy: 'Never' } } } },
  CronJob: { spec: { schedule: '0 * * * *', jobTemplate: { spec: { template: { spec: { ...pod, restartPolicy: 'Never' } } } } } },
}

const deepest = 6

/** example is a value for a schema of OpenAPI: its default, or the members that it requires. */
function example(schema, schemas, depth = 0) {
  const named = schema?.$ref ?? schema?.allOf?.[0]?.$ref
  const known = named ? schemas[named.split('/').pop()] : schema
  if (schema?.default !== undefined && !named) return schema.default
  if (known?.enum) return known.enum[0]
  if (known?.type === 'array') return []
  if (known?.type === 'object' || known?.properties) {
    if (depth > deepest) return {}
    return Object.fromEntries((known.required ?? []).map((name) => [name, example(known.properties?.[name], schemas, depth + 1)]))
  }
  return { string: '', integer: known?.minimum ?? 0, number: known?.minimum ?? 0, boolean: false }[known?.type] ?? {}
}

/** templateOf is a new object of a kind. What its schema requires is read from the gateway; without a schema it has metadata only. */
export async function templateOf({ group, version, kind }, namespace) {
  const apiVersion = group ? `${group}/${version}` : version
  const head = { apiVersion, kind, metadata: { name: '', ...(namespace ? { namespace } : {}) } }
  if ((!group || ['apps', 'batch'].includes(group)) && bodies[kind]) return { ...head, ...bodies[kind] }
  try {
    const { schemas } = (await get(`/openapi/v3/${group ? 'apis/' + group : 'api'}/${version}`)).components
    const found = Object.values(schemas).find((each) => each['x-kubernetes-group-version-kind']?.some((gvk) => gvk.group === group && gvk.version === version && gvk.kind === kind))
    const { apiVersion: a, kind: k, metadata: m, status: s, ...body } = example({ ...found, required: [...new Set([...(found?.required ?? []), ...(found?.properties?.spec ? ['spec'] : [])])] }, schemas)
    return { ...head, ...body }
  } catch {
    return head
  }
}

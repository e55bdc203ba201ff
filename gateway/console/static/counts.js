// How many items lists have, asked for once for all who want to know it.

const fresh = 2_000 // ms for which a revision is the newest one
const most = 2_000 // counts that are kept

const metadataOnly = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
const one = { query: { limit: 1, pretty: 0 }, headers: { Accept: metadataOnly } }

async function countOf(gateway, path) {
  if (path.startsWith('/v1/keys')) return JSON.parse((await gateway.request(path, { query: { count: 1, pretty: 0 } })).text).count
  const { items, metadata } = JSON.parse((await gateway.request(path, one)).text)
  return items.length + (metadata.remainingItemCount ?? 0)
}

const revisionOf = async (gateway) => JSON.parse((await gateway.request('/api/v1/namespaces', one)).text).metadata.resourceVersion

/** Counts remembers counts by the newest revision of etcd: until that changes, a list is counted once for each token. */
export class Counts {
  #counts = new Map() // from token, gateway and path to {revision, found}
  #revisions = new Map() // from token and gateway to {at, found}

  /** count is how many objects, or keys, the list at a path has, as of a revision that newest() has returned, or later. */
  count(gateway, path, revision) {
    const key = JSON.stringify([gateway.token, gateway.url, path])
    const known = this.#counts.get(key)
    if (known && revision !== undefined && known.revision === revision) return known.found
    if (this.#counts.size >= most) this.#counts.clear()
    return this.#remember(this.#counts, key, { revision, found: countOf(gateway, path) })
  }

  /** newest is the newest revision of etcd. */
  newest(gateway) {
    const key = JSON.stringify([gateway.token, gateway.url])
    const known = this.#revisions.get(key)
    if (known && performance.now() - known.at < fresh) return known.found
    if (this.#revisions.size >= most) this.#revisions.clear()
    return this.#remember(this.#revisions, key, { at: performance.now(), found: revisionOf(gateway) })
  }

  #remember(map, key, entry) {
    map.set(key, entry)
    entry.found.catch(() => { if (map.get(key) === entry) map.delete(key) })
    return entry.found
  }
}

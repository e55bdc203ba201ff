// Types of revtail.js.

/** The connection to a gateway. */
export interface GatewayOptions {
  /** Where the gateway is; without it: the gateway that this file was loaded from. A page of another origin needs --cors-allowed-origins. */
  url?: string
  /** A bearer token, or a function that returns the one of now. */
  token?: string | (() => string | undefined | Promise<string | undefined>)
  /** How watches are streamed. websocket, the default, costs none of the six connections that a browser has to a host; where none gets through, fetch takes over. */
  transport?: 'websocket' | 'fetch' | 'sse'
  /** A WebSocket authenticates with a ticket (/v1/tickets) in place of the token. EventSource always does. */
  tickets?: boolean
  /** Opens the streams of watches in place of the transport. */
  open?: (gateway: Gateway, path: string, options: StreamOptions) => AsyncIterable<string[]>
}

/** What a stream of a watch is opened with. It yields lines in batches; the first batch is empty, and says that the stream is open. */
export interface StreamOptions {
  query: Record<string, string | number | boolean | undefined>
  accept?: string
  since?: number
  /** After how many ms without a line the stream is given up. */
  silence: number
  signal?: AbortSignal
}

/** Which items a list has. Further parameters of the gateway's API can be added by their names. */
export interface Selection {
  /** An expression in CEL. */
  filter?: string
  labelSelector?: string
  fieldSelector?: string
  /** Items of a page: 500 without it. */
  limit?: number
  /** The columns that kubectl shows: the cells of each item, and their names in the list. */
  columns?: boolean
  signal?: AbortSignal
  [parameter: string]: unknown
}

export interface ListOptions extends Selection {
  /** The state as of a revision; of keys also of a time: '-10m', '2026-11-21T10:00:00Z'. */
  at?: number | string
  /** At most how many items: next says that there are more. */
  most?: number
}

export interface WatchOptions extends Selection {
  /** The changes after a revision; without it: a list first. */
  since?: number
  most?: number
  /** Of keys: the value before each change, as JSON, in old. */
  prev?: 1
  onState?: (state: State, detail?: StateDetail) => void
}

export type LiveOptions = Omit<WatchOptions, 'since' | 'most' | 'onState'>

/** listing, live, reconnecting (it resumes after since), expired (it lists again). */
export type State = 'listing' | 'live' | 'reconnecting' | 'expired'

export interface StateDetail {
  error?: Error
  /** ms until the next try. */
  delay?: number
  since?: number
}

export interface Column {
  name: string
  type: string
  format: string
  description: string
  /** Above 0: for wide tables. */
  priority: number
}

export interface Page {
  items: Item[]
  revision: number
  columns?: Column[]
  /** The token of the next page. */
  next?: string
  /** How many items come after this page, if the gateway says so. */
  remaining?: number
}

/** An object of Kubernetes, or a key. */
export class Item {
  /** NAMESPACE/NAME or NAME; of keys the key. */
  readonly id: string
  readonly name: string
  readonly namespace?: string
  /** The revision of its last change. */
  readonly revision: number
  /** Its JSON, or that of the value of a key, as the gateway has sent it; undefined for a deleted key. */
  readonly text?: string
  /** parse(text) */
  readonly value: any
  /** Its cells in the columns of the list. */
  readonly cells?: unknown[]
  /** When it was created (RFC 3339), for an object. */
  readonly created?: string
  /** The path of its own URL. */
  readonly path: string
  /** Of a key: how the value is encoded. */
  readonly encoding?: 'json' | 'utf8' | 'base64'
  /** Of a key: how many changes it has had since it was created; of an object: its generation. */
  readonly version?: number
  readonly lease?: string
  readonly createRevision?: number
  /** Of a key: its name in a URL. */
  readonly address?: { key: string } | { key64: string }
}

export type WatchEvent =
  /** Everything there is: what was known before counts no more. compacted: etcd has lost the changes since then. */
  | ({ type: 'LIST'; compacted: boolean } & Page)
  /** complete: a watch may begin after its revision. */
  | { type: 'ADDED' | 'MODIFIED' | 'DELETED'; item: Item; revision: number; complete: boolean; old?: string }
  /** There is nothing more up to this revision. */
  | { type: 'BOOKMARK'; revision: number; complete: true; item?: undefined }

/** What a gateway refuses, or that it does not answer (status 0). */
export class RevtailError extends Error {
  /** The HTTP code; 0: there was no answer. */
  readonly status: number
  /** As in a Status of Kubernetes, such as NotFound; of keys the title of a problem. */
  readonly reason: string
  /** The Status or problem. */
  readonly body: any
  /** The answer as it was; empty: there was none. */
  readonly text: string
  /** Seconds after which to try again; 0: not said. */
  readonly retryAfter: number
  /** The revision that a refusal is true of; 0: not said. */
  readonly revision: number
  /** etcd has compacted the revision that was asked for: status 410. */
  readonly gone: boolean
}

export interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: BodyInit
  query?: Record<string, string | number | boolean | undefined>
  signal?: AbortSignal
}

export class Gateway {
  constructor(options?: GatewayOptions)
  readonly url: string
  /** All items of a list, page by page, as of one revision. */
  list(path: string, options?: ListOptions): Promise<Page>
  pages(path: string, options?: ListOptions): AsyncGenerator<Page, void, void>
  /** The changes of a list, each once, over lost connections too. It ends with the signal, and throws what the gateway refuses. */
  watch(path: string, options?: WatchOptions): AsyncGenerator<WatchEvent, void, void>
  /** A map of the items of a list that stays true. */
  live(path: string, options?: LiveOptions): Promise<Live>
  /** Any request. It throws a RevtailError for every status but 2xx. */
  request(path: string, options?: RequestOptions): Promise<{ status: number; headers: Headers; text: string }>
}

export interface Change {
  id: string
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  /** What it is now; undefined: it is not there. */
  item?: Item
  /** What it was before; undefined: it was not there. */
  old?: Item
}

export interface LiveEvents {
  change: CustomEvent<Change>
  state: CustomEvent<{ state: State | 'refused' | 'closed' } & StateDetail>
  error: CustomEvent<Error>
}

/** A map of the items of a list, by id. */
export class Live extends EventTarget implements Iterable<[string, Item]> {
  constructor(gateway: Gateway, path: string, options?: LiveOptions)
  /** Resolves when the list is there. */
  readonly ready: Promise<void>
  readonly size: number
  readonly revision: number
  readonly state: State | 'refused' | 'closed'
  readonly columns?: Column[]
  readonly error?: Error
  get(id: string): Item | undefined
  has(id: string): boolean
  keys(): IterableIterator<string>
  values(): IterableIterator<Item>
  entries(): IterableIterator<[string, Item]>
  forEach(call: (item: Item, id: string, map: Live) => void, self?: unknown): void
  [Symbol.iterator](): IterableIterator<[string, Item]>
  /** The changes from now on. A reader that is slower than they come gets one for each id: from what it knew to what is. */
  changes(): AsyncGenerator<Change, void, void>
  close(): void
  addEventListener<T extends keyof LiveEvents>(type: T, listener: (event: LiveEvents[T]) => void, options?: boolean | AddEventListenerOptions): void
  addEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void
}

export function list(path: string, options?: GatewayOptions & ListOptions): Promise<Page>
export function watch(path: string, options?: GatewayOptions & WatchOptions): AsyncGenerator<WatchEvent, void, void>
export function live(path: string, options?: GatewayOptions & LiveOptions): Promise<Live>

/** A number that a double does not hold. In arithmetic it is the nearest double. */
export class ExactNumber {
  constructor(text: string)
  readonly text: string
}

/** JSON.parse, but a number that a double does not hold is an ExactNumber. */
export function parse(text: string): any
/** JSON.stringify, but an ExactNumber is written as its text. */
export function stringify(value: unknown, space?: string | number): string
/** Whether two values are equal: numbers by value, objects by members in any order. */
export function same(a: unknown, b: unknown): boolean

/** Parts that the console uses too. They change without notice. */
export const internals: Record<string, unknown>

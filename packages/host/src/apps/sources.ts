import { maxAppSources } from "./limits.ts";

/** Something of the browser that an app may use. */
export type AppPermission = "camera" | "microphone" | "geolocation" | "clipboard-write";

/** The origins that an app may reach. All of them are safe to be written into a policy. */
export interface AppSources {
  /** Origins that the app connects to. */
  readonly connect: readonly string[];
  /** Origins of its scripts, styles, images, fonts and media. */
  readonly resources: readonly string[];
  /** Origins of the frames inside it. */
  readonly frames: readonly string[];
  /** Origins that its `<base>` may name. */
  readonly base: readonly string[];
}

/** The origins and permissions that an app is granted. */
export interface AppGrant {
  /** Undefined if the app declared no origins: it then connects to nothing, not even to its own. */
  readonly sources?: AppSources;
  readonly permissions: readonly AppPermission[];
}

/**
 * A scheme, a host that may begin with `*.`, and perhaps a port and a path. It holds no space, quote, `;` or `,`, and so
 * cannot end a directive; a lone `*` would be every origin.
 */
const source = /^(https?|wss?):\/\/(\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(:(\d{1,5}|\*))?(\/[\w./~%+-]*)?$/i;

/** True if a text is an origin that a policy may contain. */
export function isSource(value: unknown): value is string {
  return typeof value === "string" && value.length <= 300 && source.test(value);
}

/** The permissions of a frame, by their names in the protocol. */
export const permissionNames: { readonly [declared: string]: AppPermission } = {
  camera: "camera",
  microphone: "microphone",
  geolocation: "geolocation",
  clipboardWrite: "clipboard-write",
};

/** The declarations of a server about its app, sorted into those that can be granted and those that cannot. */
export interface DeclaredGrant extends AppGrant {
  /** Origins that are none, as they were written. */
  readonly dropped: readonly string[];
}

/** Reads `csp` and `permissions` of an app's metadata. Never throws: whatever is not understood is not granted. */
export function readGrant(ui: { readonly [name: string]: unknown }): DeclaredGrant {
  const dropped: string[] = [];
  const declared = ui["csp"];
  const listOf = (name: string): string[] => {
    const list = (declared as { readonly [name: string]: unknown })[name];
    if (!Array.isArray(list)) return [];
    const valid: string[] = [];
    for (const item of list) {
      if (isSource(item) && valid.length < maxAppSources) valid.push(item);
      else if (dropped.length < maxAppSources) dropped.push(String(item).slice(0, 100));
    }
    return [...new Set(valid)];
  };
  const sources: AppSources | undefined =
    typeof declared === "object" && declared !== null
      ? {
          connect: listOf("connectDomains"),
          resources: listOf("resourceDomains"),
          frames: listOf("frameDomains"),
          base: listOf("baseUriDomains"),
        }
      : undefined;
  const wanted = ui["permissions"];
  const names = typeof wanted === "object" && wanted !== null ? Object.keys(wanted) : [];
  const permissions = Object.entries(permissionNames).flatMap(([name, one]) => (names.includes(name) ? [one] : []));
  return { ...(sources && { sources }), permissions, dropped };
}

/** Returns what was granted in the names of the protocol, for `hostCapabilities.sandbox`. */
export function toDeclaration({ sources, permissions }: AppGrant): { csp?: object; permissions?: object } {
  const granted = Object.entries(permissionNames).filter(([, one]) => permissions.includes(one));
  return {
    ...(sources && {
      csp: {
        connectDomains: sources.connect,
        resourceDomains: sources.resources,
        frameDomains: sources.frames,
        baseUriDomains: sources.base,
      },
    }),
    ...(granted.length > 0 && { permissions: Object.fromEntries(granted.map(([name]) => [name, {}])) }),
  };
}

/**
 * Returns the Content Security Policy of an app. `ancestors` are the origins whose pages may show it, `inner` those of the
 * frames that its page needs itself. Throws for an origin that no policy may contain, because the caller has skipped
 * `readGrant`.
 */
export function policyOf(
  { sources }: Pick<AppGrant, "sources">,
  ancestors: readonly string[],
  inner: readonly string[] = [],
): string {
  for (const one of sources ? Object.values(sources).flat() : []) {
    if (!isSource(one)) throw new Error(`no origin: ${JSON.stringify(one)}`);
  }
  const { connect = [], resources = [], frames = [], base = [] } = sources ?? {};
  const orNone = (list: readonly string[]) => (list.length > 0 ? list.join(" ") : "'none'");
  const with_ = (own: string) => [own, ...resources].join(" ");
  return [
    "default-src 'none'",
    `script-src ${with_("'self' 'unsafe-inline'")}`,
    `style-src ${with_("'self' 'unsafe-inline'")}`,
    `img-src ${with_("'self' data:")}`,
    `media-src ${with_("'self' data:")}`,
    `font-src ${with_("'self'")}`,
    `connect-src ${orNone(connect)}`,
    `frame-src ${orNone([...inner, ...frames])}`,
    `base-uri ${orNone(base.length > 0 ? base : ["'self'"])}`,
    "object-src 'none'",
    // A form would be a navigation with the app's words in it.
    "form-action 'none'",
    `frame-ancestors ${orNone(ancestors)}`,
  ].join("; ");
}

/** Returns the value of a frame's `allow`. */
export function allowOf(permissions: readonly AppPermission[]): string {
  return permissions.map((one) => `${one} *`).join("; ");
}

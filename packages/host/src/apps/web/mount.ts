import { maxAppBurst, maxAppFrames, maxAppMessagesPerSecond, maxAppPixels, maxFrameMessageChars } from "../limits.ts";
import { Allowance, measure } from "../message.ts";
import { type AppPermission, allowOf, toDeclaration } from "../sources.ts";

/** A message as it travels, any JSON object. */
type PostedMessage = { [member: string]: unknown };

/** How the messages of a shown app travel. */
export interface MountedChannel {
  open(receive: (message: unknown) => void): void;
  post(message: PostedMessage): void;
  close(): void;
}

/** An app as a page needs it to show it: a session of `openApp` has it, and so may a proxy of one on a server. */
export interface MountableApp {
  readonly resource: {
    readonly html: string;
    readonly permissions: readonly AppPermission[];
    readonly border?: boolean;
  };
  connect(channel: MountedChannel): void;
  close(reason?: string): Promise<void>;
}

/** Options of `mountApp`. */
export interface MountOptions {
  /** The address of the app's page in the sandbox, on another origin than this page: `SandboxHandler.add` makes its path. */
  readonly sandbox: string;
  /** The name of the frame for screen readers. Default: "App". */
  readonly title?: string;
  /** The tallest that the app may become at its own wish, in pixels. Default: 4,000. */
  readonly maxHeight?: number;
  /** The widest that the app may become at its own wish, in pixels. Default: the width of its element. */
  readonly maxWidth?: number;
}

/** An app in a page. */
export interface MountedApp {
  /** The frame of the sandbox. */
  readonly frame: HTMLIFrameElement;
  /** Tells the app that it is removed, waits for it for a bounded time, and removes it. */
  close(reason?: string): Promise<void>;
}

/** Shows an app in an element of this page. Throws if the sandbox is on the origin of this page. */
export function mountApp(app: MountableApp, element: Element, options: MountOptions): MountedApp {
  for (const name of Object.keys(options)) {
    if (!optionNames.includes(name)) throw new TypeError(`mountApp: unknown option \`${name}\``);
  }
  const page = element.ownerDocument.defaultView;
  if (!page) throw new TypeError("mountApp: the element is in no page");
  const address = new URL(options.sandbox, page.location.href);
  if (!["http:", "https:"].includes(address.protocol) || address.origin === page.location.origin) {
    throw new TypeError(`mountApp: the sandbox needs an origin of its own, got ${address.origin}`);
  }
  const frame = element.ownerDocument.createElement("iframe");
  frame.title = options.title ?? "App";
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  frame.setAttribute("allow", allowOf(app.resource.permissions));
  // The sandbox answers only to pages that it knows.
  frame.referrerPolicy = "origin";
  frame.style.cssText = `display:block;width:100%;height:${startHeight};border:${app.resource.border ? "1px solid #8884" : "0"};box-sizing:border-box`;
  app.connect(new FrameChannel(app, frame, address, page, options));
  // The listener is there: the sandbox announces itself while it loads.
  frame.src = address.href;
  element.append(frame);
  return { frame, close: (reason) => app.close(reason) };
}

const optionNames: readonly string[] = ["sandbox", "title", "maxHeight", "maxWidth"];
const startHeight = "150px";

/** The messages of one frame. */
class FrameChannel implements MountedChannel {
  readonly #app: MountableApp;
  readonly #frame: HTMLIFrameElement;
  readonly #origin: string;
  readonly #page: Window;
  readonly #options: MountOptions;
  /** Counts messages that did not come through the sandbox: a frame inside an app may post to this page directly. */
  readonly #stray: Allowance;
  /**
   * Counts the others, beyond what a session allows: one in this page ends an app that floods by itself, but one on another
   * machine would hear of it too late.
   */
  readonly #own: Allowance;
  #receive: ((message: unknown) => void) | undefined;
  #isLoaded = false;

  constructor(app: MountableApp, frame: HTMLIFrameElement, { origin }: URL, page: Window, options: MountOptions) {
    this.#app = app;
    this.#frame = frame;
    this.#origin = origin;
    this.#page = page;
    this.#options = options;
    const now = () => page.performance.now();
    this.#stray = new Allowance(maxAppMessagesPerSecond, maxAppBurst, now);
    this.#own = new Allowance(maxAppMessagesPerSecond * 2, maxAppBurst * 2, now);
  }

  open(receive: (message: unknown) => void): void {
    this.#receive = receive;
    this.#page.addEventListener("message", this.#onMessage);
  }

  post(message: PostedMessage): void {
    // Never "*": the frame might show another page by now.
    this.#frame.contentWindow?.postMessage(message, this.#origin);
  }

  close(): void {
    this.#page.removeEventListener("message", this.#onMessage);
    this.#frame.remove();
  }

  readonly #onMessage = ({ source, origin, data }: MessageEvent): void => {
    const own = this.#frame.contentWindow;
    if (own === null || source === null) return;
    if (source !== own) {
      if (isInside(own, source) && !this.#stray.take(1)) this.#stop();
      return;
    }
    if (origin !== this.#origin) return;
    const size = measure(data, maxFrameMessageChars);
    if (!this.#own.take(1) || (typeof size !== "number" && size.isTooLarge)) {
      this.#stop();
      return;
    }
    const method: unknown = typeof data === "object" && data !== null ? (data as PostedMessage)["method"] : undefined;
    if (method === "ui/notifications/sandbox-proxy-ready") this.#load();
    if (typeof method === "string" && method.startsWith("ui/notifications/sandbox-")) return;
    if (method === "ui/notifications/size-changed") this.#resize((data as PostedMessage)["params"]);
    this.#receive?.(data);
  };

  /** Hands the document to the sandbox, once. */
  #load(): void {
    if (this.#isLoaded) return;
    this.#isLoaded = true;
    const { html, permissions } = this.#app.resource;
    const params = { html, ...toDeclaration({ permissions }) };
    this.post({ jsonrpc: "2.0", method: "ui/notifications/sandbox-resource-ready", params });
  }

  #resize(params: unknown): void {
    if (typeof measure(params, 1_000) !== "number" || typeof params !== "object" || params === null) return;
    const { width, height } = params as { readonly [name: string]: unknown };
    const { maxHeight = maxAppPixels, maxWidth } = this.#options;
    if (isLength(height)) this.#frame.style.height = `${Math.min(Math.ceil(height), maxHeight, maxAppPixels)}px`;
    // Narrower than the element at its own wish; wider only where the page allows it.
    if (isLength(width) && maxWidth !== undefined) {
      this.#frame.style.width = `${Math.min(Math.ceil(width), maxWidth, maxAppPixels)}px`;
    }
  }

  /** Ends an app that floods this page past the sandbox. The frame goes at once: that alone stops it. */
  #stop(): void {
    this.close();
    void this.#app.close("it sent too much");
  }
}

function isLength(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

/** True if a window is one of the frames inside a frame. Other origins let these be counted and compared. */
function isInside(outer: Window, source: MessageEventSource): boolean {
  const open: Window[] = [outer];
  for (let seen = 0; seen < maxAppFrames && open.length > 0; seen += 1) {
    const next = open.shift();
    if (next === source) return true;
    try {
      for (let at = 0; next && at < Math.min(next.length, maxAppFrames); at += 1) {
        const inner = next[at];
        if (inner) open.push(inner);
      }
    } catch {
      // The frame is gone.
      return false;
    }
  }
  return false;
}

/** A tool with an app, as the preview page lists it. */
export interface PreviewTool {
  readonly server: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** The URI of its app. */
  readonly app: string;
  /** Arguments to begin with, as JSON. */
  readonly args: string;
}

/** A question that the page shows. */
export interface PreviewQuestion {
  readonly id: string;
  readonly title: string;
  /** The subject of the question: arguments, an address, a message. */
  readonly subject: string;
  readonly warnings: readonly string[];
  /** The label of the yes. */
  readonly yes: string;
  /** The address that a yes opens. */
  readonly opens?: string;
}

/** The messages of the preview to its page. */
export type PreviewEvent =
  /** The first event: the name of the page in its requests. */
  | { readonly kind: "hello"; readonly page: string }
  | { readonly kind: "tools"; readonly tools: readonly PreviewTool[] }
  | { readonly kind: "question"; readonly question: PreviewQuestion }
  | { readonly kind: "answered"; readonly id: string }
  | {
      readonly kind: "opened";
      readonly app: string;
      readonly title: string;
      readonly sandbox: string;
      readonly resource: {
        readonly html: string;
        readonly permissions: readonly ("camera" | "microphone" | "geolocation" | "clipboard-write")[];
      };
    }
  | { readonly kind: "message"; readonly app: string; readonly message: { readonly [name: string]: unknown } }
  | { readonly kind: "state"; readonly app: string; readonly state: string }
  | { readonly kind: "closed"; readonly app: string; readonly end: string }
  | { readonly kind: "log"; readonly from: string; readonly text: string; readonly isProblem: boolean }
  | { readonly kind: "failed"; readonly reason: string };

/** The requests of the page to the preview. */
export type PreviewRequest =
  | {
      readonly kind: "show";
      readonly page: string;
      readonly server: string;
      readonly tool: string;
      readonly args: string;
      readonly theme: string;
    }
  | { readonly kind: "message"; readonly app: string; readonly message: unknown }
  | { readonly kind: "answer"; readonly id: string; readonly allow: boolean; readonly always: boolean }
  | { readonly kind: "close"; readonly app: string; readonly reason?: string };

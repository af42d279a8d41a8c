import { ApiFailure, sayHello } from "./client.ts";

const key = "portolan-session";
const channelName = "portolan-session";
/** Other tabs answer at once if there are any. */
const otherTabsMs = 300;

type Asked = { readonly kind: "ask" } | { readonly kind: "give"; readonly session: string };

/**
 * Returns the session of this browser: of the token in the address, of this tab, or of another tab. Undefined if there is
 * none. The token is removed from the address.
 */
export async function openSession(): Promise<string | undefined> {
  const launch = /^#launch=([\w.~-]+)$/.exec(location.hash)?.[1];
  if (launch !== undefined) {
    history.replaceState(null, "", location.pathname);
    try {
      const { session } = await sayHello(launch);
      sessionStorage.setItem(key, session);
      return session;
    } catch (error) {
      // The token counts once: the page may have been loaded again, or the address opened twice.
      if (!(error instanceof ApiFailure) || error.code === "unreachable") throw error;
    }
  }
  return sessionStorage.getItem(key) ?? (await askOtherTabs());
}

/** Gives the session to other tabs of this browser that ask for it, until `signal` aborts. */
export function shareSession(session: string, signal: AbortSignal): void {
  sessionStorage.setItem(key, session);
  const channel = new BroadcastChannel(channelName);
  channel.onmessage = ({ data }: MessageEvent<Asked>) => {
    if (data.kind === "ask") channel.postMessage({ kind: "give", session } satisfies Asked);
  };
  signal.addEventListener("abort", () => channel.close());
}

/** Forgets a session that counts no more. */
export function forgetSession(): void {
  sessionStorage.removeItem(key);
}

function askOtherTabs(): Promise<string | undefined> {
  const channel = new BroadcastChannel(channelName);
  return new Promise((resolve) => {
    const end = (session?: string) => {
      clearTimeout(timer);
      channel.close();
      resolve(session);
    };
    const timer = setTimeout(end, otherTabsMs);
    channel.onmessage = ({ data }: MessageEvent<Asked>) => {
      if (data.kind === "give") end(data.session);
    };
    channel.postMessage({ kind: "ask" } satisfies Asked);
  });
}

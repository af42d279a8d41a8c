import { addressOf, HttpFailure, refused } from "./failure.ts";
import type { Challenge, Head, HttpAuth, HttpHeaders, OutgoingRequest } from "./options.ts";

const maxRedirects = 2;

/** Where a redirected request goes; throws an HttpFailure where it must not go, or has gone often enough. */
export function followRedirect(request: OutgoingRequest, head: Head, followed: number): URL {
  const { status } = head;
  const location = head.header("location");
  const target =
    location !== undefined && URL.canParse(location, request.url) ? new URL(location, request.url) : undefined;
  const isKept = status === 307 || status === 308 || (request.method === "GET" && status <= 302);
  if (target && isKept && isSameHost(request.url, target) && followed < maxRedirects) return target;
  throw new HttpFailure("http-status", request, whyNot(status, target, followed), { status });
}

/** Lets the hook answer a challenge; throws where it does not want another attempt, or there is no hook to ask. */
export async function answerChallenge(
  about: Pick<Challenge, "request" | "sent" | "operation" | "signal">,
  head: Head,
  body: string,
  auth: HttpAuth | undefined,
): Promise<void> {
  const challenge: Challenge = {
    ...about,
    status: head.status as 401 | 403,
    header: (name: string) => head.header(name.toLowerCase()),
    body,
  };
  if ((await auth?.challenged?.(challenge)) !== "retry") throw refused(about.request, head, hide(body, about.sent));
}

/** Some servers repeat the token that they refuse. */
function hide(body: string, sent: HttpHeaders): string {
  const tokens = Object.values(sent).map((value) => value.replace(/^\S+ +/, ""));
  return tokens.reduce((text, token) => (token === "" ? text : text.replaceAll(token, "…")), body);
}

/** Credentials stay with the host they are for; only the way there may become a safe one. */
function isSameHost(from: URL, to: URL): boolean {
  if (to.username !== "" || to.password !== "") return false;
  if (to.origin === from.origin) return true;
  return (
    from.protocol === "http:" && to.protocol === "https:" && from.hostname === to.hostname && from.port === to.port
  );
}

function whyNot(status: number, target: URL | undefined, followed: number): string {
  if (!target) return `answered ${status} without saying where to`;
  const shown = addressOf(target);
  if (followed >= maxRedirects) return `is redirected more than ${maxRedirects} times, at last to ${shown}`;
  return `answered ${status}, a redirect to ${shown} that is not followed; if that is the server, use its address`;
}

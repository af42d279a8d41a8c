import { render } from "preact";
import { ApiClient, reasonOf } from "./api/client.ts";
import { followEvents } from "./api/events.ts";
import { forgetSession, openSession, shareSession } from "./api/session.ts";
import { escapeAttributes } from "./parts/attributes.ts";
import { App } from "./shell/app.tsx";
import { Closed } from "./shell/closed.tsx";
import { ConsolePage, PageProvider } from "./state/console.ts";
import { followRoute } from "./state/route.ts";

async function start(root: HTMLElement): Promise<void> {
  const session = await openSession();
  if (session === undefined) {
    render(<Closed />, root);
    return;
  }
  const life = new AbortController();
  const { signal } = life;
  const api = new ApiClient(session, () => {
    if (signal.aborted) return;
    life.abort();
    forgetSession();
    render(<Closed isExpired />, root);
  });
  const page = new ConsolePage(api, followRoute(signal));
  shareSession(session, signal);
  followEvents(
    api,
    {
      onEvents: (events) => page.store.apply(events),
      onLink: (state, reason) => {
        page.link.value = { state, since: Date.now(), ...(reason === undefined ? {} : { reason }) };
      },
    },
    signal,
  );
  render(
    <PageProvider value={page}>
      <App />
    </PageProvider>,
    root,
  );
}

escapeAttributes();
const root = document.getElementById("app");
if (root) {
  root.replaceChildren();
  start(root).catch((error: unknown) => render(<Closed reason={reasonOf(error)} />, root));
}

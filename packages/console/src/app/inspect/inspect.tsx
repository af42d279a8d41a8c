import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { ServerRecord } from "../../api.ts";
import { Badge } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { Empty } from "../parts/empty.tsx";
import { Late } from "../parts/late.tsx";
import { ServerText } from "../parts/quoted.tsx";
import { usePage } from "../state/console.ts";
import { goTo, hrefOf } from "../state/route.ts";
import { ServerHead } from "./server-head.tsx";
import { inspectState } from "./state.ts";
import { Try } from "./try/try.tsx";

const tabs = [
  ["try", "Try"],
  ["timeline", "Timeline"],
  ["log", "Log"],
  ["recordings", "Recordings"],
  ["saved", "Saved calls"],
  ["sign-in", "Sign-in"],
  ["doctor", "Doctor"],
] as const;

/** Tabs that show no title: screen readers hear one. */
const withoutTitle: ReadonlySet<string> = new Set(["timeline", "log", "sign-in", "doctor"]);

type TabName = (typeof tabs)[number][0];

/** The side for the developer of a server: one server, and what can be done with it. */
export function InspectSide(): JSX.Element {
  const page = usePage();
  const { path } = page.route.value;
  const [name, tab] = path;
  const server = name === undefined ? undefined : page.store.servers.get(name).value;
  const [first] = page.store.servers.all.value;
  useEffect(() => {
    if (name === undefined && first) goTo(hrefOf("inspect", first.name), true);
  }, [name, first]);
  if (name === undefined && first === undefined) {
    return (
      <>
        <h1 class="hidden">Inspect</h1>
        <Empty icon="scope" title="No server to inspect">
          <p>Add one in the list of servers, by its command or address, or open a recording.</p>
        </Empty>
      </>
    );
  }
  if (name === undefined) return <div class="pad" />;
  if (server === undefined) {
    return (
      <>
        <h1 class="hidden">Inspect</h1>
        <Empty icon="scope" title="This server is gone">
          <p>
            No server is called <ServerText text={name} />.
          </p>
          <Button href={hrefOf("inspect")}>Show the first server</Button>
        </Empty>
      </>
    );
  }
  return <OneServer server={server} tab={tab} />;
}

function OneServer({ server, tab }: { server: ServerRecord; tab: string | undefined }): JSX.Element {
  const page = usePage();
  const { name } = server;
  // A server that starts when it is needed is needed now, but only once: whoever stops it means it.
  const isBegun = inspectState(page).kept(`begun:${name}`, false);
  const isIdle = server.state === "idle" && server.isTrusted;
  useEffect(() => {
    if (!isIdle || isBegun.peek()) return;
    isBegun.value = true;
    void page.attempt(() => page.api.change("server.start", { server: name }));
  }, [isIdle, name]);
  const current: TabName = tabs.find(([each]) => each === tab)?.[0] ?? "try";
  return (
    <>
      <nav class="tabs" aria-label="Inspect">
        {tabs.map(([each, words]) => (
          <a key={each} href={hrefOf("inspect", name, each)} aria-current={each === current ? "page" : undefined}>
            {words}
            {each === "doctor" && <DoctorCount server={name} />}
          </a>
        ))}
      </nav>
      {withoutTitle.has(current) && (
        <h1 class="hidden">
          {tabs.find(([each]) => each === current)?.[1]} of {name}
        </h1>
      )}
      <TabPane key={`${name} ${current}`} tab={current} server={server} />
    </>
  );
}

function DoctorCount({ server }: { server: string }): JSX.Element | null {
  const { reports } = usePage().store;
  const report = reports.all.value.findLast((each) => each.server === server && each.of === "doctor");
  const errors = report?.findings.filter(({ level }) => level === "error").length ?? 0;
  return errors === 0 ? null : <Badge tone="danger">{errors}</Badge>;
}

function TabPane({ tab, server }: { tab: TabName; server: ServerRecord }): JSX.Element {
  switch (tab) {
    case "timeline":
      return <Late label="Opening the timeline" load={() => import("./timeline/timeline.tsx")} name="TimelineTab" />;
    case "log":
      return <Late label="Opening the log" load={() => import("./log.tsx")} name="LogTab" />;
    case "recordings":
      return <Late label="Opening recordings" load={() => import("./recordings.tsx")} name="RecordingsTab" />;
    case "saved":
      return <Late label="Opening saved calls" load={() => import("./saved.tsx")} name="SavedTab" />;
    case "sign-in":
      return <Late label="Opening sign-in" load={() => import("./sign-in.tsx")} name="SignInTab" />;
    case "doctor":
      return <Late label="Opening doctor" load={() => import("./doctor.tsx")} name="DoctorTab" />;
    default:
      return (
        <>
          <ServerHead server={server} />
          <Try server={server} />
        </>
      );
  }
}

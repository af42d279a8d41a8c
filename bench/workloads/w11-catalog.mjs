import { createMemoryPair } from "portolan";
import { createServer, live, serveChannel } from "portolan/server";
import { createHost } from "portolan-host";
import { rowOf } from "../driver/row.mjs";
import { Samples } from "../driver/stats.mjs";

const verbs = ["create", "read", "update", "delete", "list", "search", "export", "import", "share", "archive"];
const things = ["invoice", "issue", "branch", "message", "calendar", "contact", "photo", "report", "ticket", "note"];

/** A host of 100 servers with 100 tools each: the waits that a person notices. */
export async function run({ quick }) {
  const repetitions = quick ? 5 : 20;
  const servers = Array.from({ length: 100 }, (_, number) => live(serverOf(number)));
  const begun = performance.now();
  const host = await createHost({
    servers: Object.fromEntries(servers.map((server, at) => [`s${at}`, wayTo(server)])),
  });
  await host.ready({ withinMs: 60_000 });
  const start = performance.now() - begun;
  if (host.catalog.tools.length !== 10_000) throw new Error(`${host.catalog.tools.length} of 10,000 tools`);

  const samples = { start: new Samples(), first: new Samples(), search: new Samples(), change: new Samples() };
  samples.start.add("portolan", 0, start);
  samples.first.add(
    "portolan",
    0,
    timeOf(() => host.catalog.search("archive the report of last month")),
  );
  for (let repetition = 0; repetition < repetitions; repetition += 1) {
    samples.search.add(
      "portolan",
      repetition,
      timeOf(() => host.catalog.search("share a photo with a contact")),
    );
    samples.change.add("portolan", repetition, await changeOf(host, servers[repetition], repetition));
  }
  await host.close();
  const row = (what, of) => rowOf(`W11 100 × 100 tools: ${what}`, { unit: "ms", shown: "value" }, of, "portolan");
  return [
    row("start and catalogue", samples.start),
    row("first search", samples.first),
    row("search", samples.search),
    row("one change until it can be found", samples.change),
  ];
}

function serverOf(number) {
  let server = createServer({ name: `s${number}`, version: "1.0.0" });
  for (const verb of verbs) {
    for (const thing of things) {
      server = server.tool(`${verb}_${thing}`, {
        description: `Does ${verb} one ${thing} of account ${number}, and says what has become of it`,
        input: { type: "object", properties: { id: { type: "string" }, note: { type: "string" } } },
        run: () => "done",
      });
    }
  }
  return server;
}

function wayTo(server) {
  return {
    open() {
      const [near, far] = createMemoryPair({ serialize: true });
      serveChannel(server, far);
      return near;
    },
  };
}

function timeOf(work) {
  const begun = performance.now();
  const found = work();
  if (found.length === 0) throw new Error("nothing was found");
  return performance.now() - begun;
}

/** Measures the time from a change of one server until a search finds it. */
async function changeOf(host, server, number) {
  const events = host.events({ kinds: ["catalog"] });
  const begun = performance.now();
  server.update((current) => current.tool(`zeppelin_${number}`, { description: "Flies", run: () => "" }));
  await events.next();
  if (host.catalog.search(`zeppelin ${number}`)[0]?.name !== `zeppelin_${number}`) throw new Error("not found");
  await events.return();
  return performance.now() - begun;
}

// region server
import { createServer, form } from "portolan/server";
import { tasks } from "portolan/server/tasks";

const look = form({ type: "object", properties: { look: { enum: ["day", "night"] } }, required: ["look"] });

/**
 * @param {import("portolan/storage").Storage} storage
 * @param {{ open(scene: string, look: unknown): Promise<number>, frame(film: number, at: number): Promise<void> }} studio
 */
export function createFilmServer(storage, studio) {
  return createServer({ name: "films", version: "1.0.0" }, { storage })
    .extend(tasks())
    .tool("render", {
      input: { type: "object", properties: { scene: { type: "string" } }, required: ["scene"] },
      task: { resume: true },
      async run({ scene }, ctx) {
        const answer = await ctx.elicit("look", { message: `Which look has ${scene}?`, form: look });
        if (answer.action !== "accept") return ctx.cancelled();
        const film = await ctx.once("film", () => studio.open(String(scene), answer.content["look"]));
        for (let at = 1; at <= 3; at += 1) {
          await ctx.once(`frame ${at}`, () => studio.frame(film, at));
          ctx.status(`${at} of 3 frames`);
        }
        return `Film ${film} is ready`;
      },
    });
}
// endregion

// region choose
/** @param {import("portolan/server").Server} server @param {(rows: number) => Promise<string>} load */
export function addImport(server, load) {
  return server.tool("import", {
    input: { type: "object", properties: { rows: { type: "integer" } }, required: ["rows"] },
    task: { when: ({ rows }) => Number(rows) > 1_000, quickMs: 500, ttlMs: 60_000 },
    run: ({ rows }) => load(Number(rows)),
  });
}

// endregion

// region job
import { job } from "portolan/server/tasks";

/**
 * @param {import("portolan/server").Server} server
 * @param {{ submit(scene: unknown): Promise<string>, percent(id: string): Promise<number>, stop(id: string): void }} farm
 */
export function addFarm(server, farm) {
  return server.tool("farm", {
    input: { type: "object", properties: { scene: { type: "string" } }, required: ["scene"] },
    task: "required",
    run: job({
      pollMs: 50,
      start: ({ scene }) => farm.submit(scene),
      async look(/** @type {string} */ id) {
        const percent = await farm.percent(id);
        if (percent < 100) return { status: "working", message: `${percent} %` };
        return { status: "completed", result: `Rendered by job ${id}` };
      },
      stop: (/** @type {string} */ id) => farm.stop(id),
    }),
  });
}
// endregion

import { expect, onTestFinished, test } from "vitest";
import { allow, createModel } from "../host/kit.ts";
import { TaskServer } from "../host/task-server.ts";
import { importGuide } from "./guide.ts";

const guide = await importGuide("tasks-host");

async function open(model = createModel()) {
  const server = new TaskServer("2026-07-28");
  const host = await guide.open({ servers: { films: server.target }, policy: allow, model });
  onTestFinished(() => host.close());
  return { server, host };
}

test("starts a task, shows it, and waits for its result", async () => {
  const { server, host } = await open();
  const shown: string[] = [];
  const result = await guide.render(host, (text: string) => {
    shown.push(text);
    server.finish("a film");
  });
  expect(result.content).toEqual([{ type: "text", text: "a film" }]);
  expect(shown).toEqual([expect.stringMatching(/^[a-z0-9]+: working$/)]);
});

test("a run in the background ends with the results of its tasks", async () => {
  const finish = () => {
    server.finish("a film");
    return { say: "begun" };
  };
  const model = createModel({ call: [["films__render", {}]] }, finish, { say: "The film is there" });
  const { server, host } = await open(model);
  expect(await guide.runInBackground(host, "Render it")).toBe("The film is there");
});

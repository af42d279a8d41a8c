import { once } from "node:events";
import { type AddressInfo, connect as connectSocket, createServer, type Socket } from "node:net";
import { type Channel, LineReader, serialize } from "portolan";
import { connect } from "portolan/client";
import { expect, onTestFinished } from "vitest";
import { metaKey } from "../../../kit/raw-peer.ts";
import { isStateless } from "../../../kit/revisions.ts";
import { allAnswers, answerOf, asks, everyCall, round, text, textOf } from "../kit/calls.ts";
import { attach } from "../kit/endpoints.ts";
import { ScriptedServer } from "../kit/scripted-server.ts";
import type { Requirement } from "../requirement.ts";

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

function overSocket(socket: Socket): Channel {
  return {
    open(incoming) {
      const reader = new LineReader(incoming);
      socket.on("data", (chunk) => reader.push(chunk));
      socket.on("close", () => incoming.closed());
    },
    send(message) {
      socket.write(`${serialize(message)}\n`);
    },
    async close() {
      socket.destroy();
    },
  };
}

export const stdio: Requirement[] = [
  {
    row: "C-B14",
    says: "a server that exits at the end of its input gets no signal, others get SIGTERM",
    async test({ open }) {
      const steps: { readonly [mode: string]: string[] } = {
        polite: ["end of input"],
        deaf: ["end of input", "SIGTERM"],
        stubborn: ["end of input", "SIGTERM"],
      };
      for (const [mode, expected] of Object.entries(steps)) {
        const process = { modes: mode === "polite" ? [] : [mode], graceMs: mode === "polite" ? 10_000 : 150 };
        const { client, server } = await open({ process });
        const pid = Number(server.notes[0]?.slice("pid ".length));
        expect(isAlive(pid)).toBe(true);
        await client.close();
        expect(isAlive(pid), mode).toBe(false);
        await server.until(({ isClosed }) => isClosed);
        expect(server.notes.slice(1), mode).toEqual(expected);
      }
    },
  },
  {
    row: "C-C1",
    says: "every message is one line, whatever text it contains",
    async test({ open, revision }) {
      const { client, server } = await open({ answers: allAnswers });
      await everyCall(client, revision);
      await client.callTool("a\nb", { text: "line\r\nline\n\u2028\u2029\u0085" });
      expect(server.lines.map((line) => JSON.parse(line))).toEqual(server.sent);
      expect(server.lines.filter((line) => /[\r\n]/.test(line) || line.trim() !== line)).toEqual([]);
      expect(server.of("tools/call").at(-1)?.params.name).toBe("a\nb");
    },
  },
  {
    row: "C-C2",
    says: "lines that are not messages are dropped and reported",
    async test({ open }) {
      const noise = ["Listening on port 3000", "{broken", "42", '"text"', "null", '{"jsonrpc":"1.0","id":1}'];
      const { client, server, errors } = await open({
        on: {
          "tools/call": (_, scripted) => {
            for (const line of noise) scripted.end.write(`${line}\n`);
            scripted.end.write("\n  \n\r\n");
            return text("clean");
          },
        },
      });
      expect(textOf(await client.callTool("a"))).toBe("clean");
      // The part that looks for the id of a broken line is loaded with the first one.
      await expect.poll(() => errors.length).toBe(noise.length);
      expect(errors[0]?.message).toContain("Listening");
      server.end.write("half a line that never");
      server.end.write(" ends\n");
      await client.ping();
      expect(errors).toHaveLength(noise.length + 1);
      for (const error of errors) expect(error).toMatchObject({ code: "answer-invalid" });
    },
  },
  {
    row: "C-C3",
    says: "standard error is reported line by line and is not an error",
    async test({ open }) {
      const stderrLines: string[] = [];
      const { client, server, errors } = await open({ process: { onStderr: (line) => stderrLines.push(line) } });
      server.end.command({ err: "ERROR: fatal\nwarning: é🙂\nhalf" });
      await client.callTool("a");
      server.end.command({ err: " a line\n" });
      await expect.poll(() => stderrLines).toEqual(["ERROR: fatal", "warning: é🙂", "half a line"]);
      await client.ping();
      expect(errors).toEqual([]);
    },
  },
  {
    row: "C-C4",
    says: "a command starts the server, and a missing program is named in the error",
    async test({ open, revision }) {
      const { client, server } = await open();
      expect(textOf(await client.callTool("a"))).toBe("done");
      expect(server.starts).toBe(1);
      const failing = connect({ command: "portolan-no-such-program" }, { era: revision });
      await expect(failing).rejects.toThrow("portolan-no-such-program");
    },
  },
  {
    row: "C-C5",
    says: "a stateless server receives no responses, a stateful one does",
    async test({ open, revision }) {
      const on = { "tools/call": asks(revision, "roots/list") };
      const { client, server } = await open({ on, answers: { roots: [] } });
      expect(await answerOf(client)).toEqual({ roots: [] });
      const responses = server.sent.filter(({ method }) => method === undefined);
      expect(responses).toHaveLength(isStateless(revision) ? 0 : 1);
    },
  },
  {
    row: "C-C6",
    says: "interleaved responses and changes reach their calls and watches",
    async test({ open, revision }) {
      const { client, server } = await open({ on: { "tools/call": () => undefined } });
      const watches = [await client.watch({ tools: true }), await client.watch({ tools: true })];
      const calls = ["a", "b"].map((name) => client.callTool(name));
      const [first, second] = await server.until(() => server.of("tools/call").length === 2 && server.of("tools/call"));
      const listens = server.of("subscriptions/listen");
      const _meta = { [metaKey("subscriptionId")]: listens[1]?.id };
      server.result(second!.id, server.complete("tools/call", text("b")));
      server.notify("notifications/tools/list_changed", isStateless(revision) ? { _meta } : {});
      server.result(first!.id, server.complete("tools/call", text("a")));
      expect((await Promise.all(calls)).map(textOf)).toEqual(["a", "b"]);
      const changes = await Promise.all(
        watches.map(async (watch) => {
          const iterator = watch[Symbol.asyncIterator]();
          const next = iterator.next();
          await client.ping();
          if (isStateless(revision)) await watch.close();
          return (await next).value;
        }),
      );
      const change = { kind: "tools" };
      expect(changes).toEqual(isStateless(revision) ? [undefined, change] : [change, change]);
    },
  },
  {
    row: "C-C7",
    says: "notifications/cancelled has the id of the aborted request, and a completed one is not cancelled",
    async test({ open }) {
      const { client, server } = await open({
        on: { "tools/call": ({ params }) => (params.name === "hang" ? undefined : text("x")) },
      });
      const controller = new AbortController();
      const { signal } = controller;
      await client.callTool("quick", {}, { signal });
      const call = client.callTool("hang", {}, { signal });
      const { id } = await server.arrival("tools/call", 2);
      controller.abort(new Error("enough"));
      await expect(call).rejects.toMatchObject({ code: "cancelled" });
      await client.ping();
      const cancelled = server.of("notifications/cancelled").map(({ params }) => params);
      expect(cancelled).toEqual([{ requestId: id, reason: expect.stringContaining("enough") }]);
    },
  },
  {
    row: "C-C8",
    says: "an exit of the server rejects calls with its code and last error line, and the client can connect again",
    async test({ open }) {
      const { client, server, connect: again } = await open({ on: { "tools/call": () => undefined } });
      const calls = ["a", "b"].map((name) => client.callTool(name));
      await server.arrival("tools/call", 2);
      server.end.command({ err: "disk full\n" });
      server.end.leave(7);
      for (const call of calls) {
        await expect(call).rejects.toMatchObject({
          code: "connection-closed",
          requestMayHaveRun: true,
          message: expect.stringMatching(/exited with code 7[\s\S]*disk full/),
        });
      }
      expect(await client.closed).toMatchObject({ code: "connection-closed" });
      await expect(client.listTools()).rejects.toMatchObject({ code: "connection-closed" });
      const next = await again();
      expect(await next.listTools()).toEqual([]);
      expect(server.starts).toBe(2);
    },
  },
  {
    row: "C-C9",
    says: "parallel calls use their own capabilities and answers",
    async test({ open }) {
      const { client, server } = await open({
        on: {
          "tools/call": ({ params }) => {
            const { clientCapabilities = params._meta[metaKey("clientCapabilities")], inputResponses } = params;
            if (!clientCapabilities.roots) return text("no roots");
            return inputResponses ? text(inputResponses.q.roots[0].uri) : round({ q: { method: "roots/list" } });
          },
        },
      });
      const rootsOf = (uri: string) => client.callTool("a", {}, { answers: { roots: [{ uri }] } });
      const results = await Promise.all([rootsOf("file:///a"), rootsOf("file:///b"), client.callTool("a")]);
      expect(results.map(textOf)).toEqual(["file:///a", "file:///b", "no roots"]);
      expect(server.starts).toBe(1);
    },
  },
  {
    row: "C-C11",
    says: "a socket can carry the lines",
    async test({ revision }) {
      const server = new ScriptedServer(revision, {});
      const listener = createServer((socket) => attach(overSocket(socket), server)).listen(0, "127.0.0.1");
      await once(listener, "listening");
      const socket = connectSocket((listener.address() as AddressInfo).port, "127.0.0.1");
      const client = await connect(overSocket(socket), { era: revision });
      expect(textOf(await client.callTool("a", { words: "é\n🙂" }))).toBe("done");
      expect(server.of("tools/call")[0]!.params.arguments).toEqual({ words: "é\n🙂" });
      await client.close();
      listener.close();
    },
  },
  {
    row: "C-C12",
    says: "the server gets the given variables and PATH, and no other variables of the client",
    async test({ open }) {
      process.env["PORTOLAN_TEST_SECRET"] = "ours";
      onTestFinished(() => void delete process.env["PORTOLAN_TEST_SECRET"]);
      const { server } = await open({ process: { env: { SERVER_TOKEN: "given" } } });
      server.end.command({ env: ["SERVER_TOKEN", "PORTOLAN_TEST_SECRET", "PATH"] });
      const note = await server.until(({ notes }) => notes.find((each) => each.startsWith("{")));
      expect(JSON.parse(note)).toEqual({
        SERVER_TOKEN: "given",
        PORTOLAN_TEST_SECRET: null,
        PATH: process.env["PATH"],
      });
    },
  },
];

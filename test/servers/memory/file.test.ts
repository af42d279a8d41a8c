import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { defaultFile } from "portolan-memory";
import { describe, expect, test } from "vitest";
import { add, freshFile, namesIn, openTestStore } from "./kit.ts";

const linesOf = (file: string) => readFileSync(file, "utf8").split("\n").slice(0, -1);

async function fileWith(...names: string[]): Promise<string> {
  const file = freshFile();
  const store = openTestStore(file);
  for (const name of names) await add(store, name);
  await store.close();
  return file;
}

describe("an incomplete last line", () => {
  test("is removed by the next writer, wherever it was cut", async () => {
    const file = await fileWith("one", "two", "three");
    const whole = readFileSync(file);
    const lastLine = whole.lastIndexOf(10, whole.length - 2) + 1;
    for (let end = lastLine + 1; end < whole.length - 1; end += 7) {
      writeFileSync(file, whole.subarray(0, end));
      const store = openTestStore(file);
      expect(namesIn(store)).toEqual(["one", "two"]);
      await add(store, "four");
      expect(namesIn(openTestStore(file))).toEqual(["four", "one", "two"]);
      expect(openTestStore(file).state().damage).toEqual([]);
    }
  });

  test("is kept if only its line break is missing", async () => {
    const file = await fileWith("one", "two");
    truncateSync(file, statSync(file).size - 1);
    const store = openTestStore(file);
    await add(store, "three");
    expect(namesIn(openTestStore(file))).toEqual(["one", "three", "two"]);
  });

  test("of zeros, as after a power failure, is removed", async () => {
    const file = await fileWith("one");
    appendFileSync(file, Buffer.alloc(4_096));
    const store = openTestStore(file);
    await add(store, "two");
    expect(namesIn(openTestStore(file))).toEqual(["one", "two"]);
  });

  test("is not touched by readers", async () => {
    const file = await fileWith("one");
    appendFileSync(file, "2 0000");
    const before = readFileSync(file);
    expect(namesIn(openTestStore(file))).toEqual(["one"]);
    expect(readFileSync(file)).toEqual(before);
  });
});

describe("damage in the middle", () => {
  test("is reported with its position, and the rest is read", async () => {
    const file = await fileWith("one", "two", "three");
    const lines = linesOf(file);
    writeFileSync(
      file,
      `${lines.map((line, index) => (index === 2 ? line.replace("two", "twx") : line)).join("\n")}\n`,
    );
    const store = openTestStore(file);
    expect(namesIn(store)).toEqual(["one", "three"]);
    expect(store.state().damage).toMatchObject([{ line: 3, why: expect.stringContaining("checksum") }]);
    expect(store.problems).toEqual([expect.stringContaining("line 3")]);
  });

  test("is reported if whole lines are missing", async () => {
    const file = await fileWith("one", "two", "three", "four");
    writeFileSync(
      file,
      `${linesOf(file)
        .filter((_, index) => index !== 2 && index !== 3)
        .join("\n")}\n`,
    );
    expect(openTestStore(file).state().damage).toMatchObject([{ line: 3, why: "2 lines before it are missing" }]);
  });

  test("stays in the file after writes, and compaction refuses to drop it", async () => {
    const file = await fileWith("one", "two", "three");
    writeFileSync(file, readFileSync(file, "utf8").replace('"two"', '"twx"'));
    const store = openTestStore(file, { compactBytes: 1 });
    await add(store, "four");
    expect(readFileSync(file, "utf8")).toContain('"twx"');
    await expect(store.compact()).rejects.toThrow("--repair");
    expect(namesIn(openTestStore(file))).toEqual(["four", "one", "three"]);
  });

  test("is removed by a repair, and nothing else is lost", async () => {
    const file = await fileWith("one", "two", "three");
    const damaged = readFileSync(file, "utf8").replace('"two"', '"twx"');
    writeFileSync(file, damaged);
    await openTestStore(file).compact({ repair: true });
    const store = openTestStore(file);
    expect({ names: namesIn(store), damage: store.state().damage }).toEqual({ names: ["one", "three"], damage: [] });
    const [kept] = readdirSync(dirname(file)).filter((name) => name.includes(".damaged-"));
    expect(readFileSync(join(dirname(file), kept!), "utf8")).toBe(damaged);
  });

  test("in the first line is reported, too", async () => {
    const file = await fileWith("one", "two");
    writeFileSync(file, readFileSync(file, "utf8").replace("portolan-memory", "portolan-memxry"));
    const store = openTestStore(file);
    expect({ names: namesIn(store), damaged: store.state().damage.length }).toEqual({
      names: ["one", "two"],
      damaged: 1,
    });
    await add(store, "three");
    expect(namesIn(store)).toEqual(["one", "three", "two"]);
  });
});

describe("compaction", () => {
  test("keeps all content, makes the file smaller, and readers notice it", async () => {
    const file = freshFile();
    const [store, reader] = [openTestStore(file), openTestStore(file)];
    for (let round = 0; round < 20; round += 1) {
      await store.change("default", () => ({
        ops: [
          { do: "entity", name: "Ada", type: `type ${round}` },
          { do: "observe", name: "Ada", texts: [`fact ${round % 3}`] },
          { do: "relate", relation: { from: "Ada", to: "Grace", relationType: "knows" } },
        ],
        result: undefined,
      }));
    }
    expect(namesIn(reader)).toEqual(["Ada"]);
    const before = statSync(file).size;
    const heard: object[] = [];
    reader.onChange((changes) => heard.push(changes));
    await store.compact();
    expect(statSync(file).size).toBeLessThan(before / 5);
    const graph = reader.read("default");
    expect(graph.entities.get("Ada")).toMatchObject({ entityType: "type 19" });
    expect([...graph.entities.get("Ada")!.observations]).toEqual(["fact 0", "fact 1", "fact 2"]);
    expect([...graph.relations.values()]).toEqual([{ from: "Ada", to: "Grace", relationType: "knows" }]);
    // Only the file has changed, not its content.
    expect(heard).toEqual([]);
    await add(reader, "Grace");
    expect(namesIn(store)).toEqual(["Ada", "Grace"]);
  });

  test("starts when more was appended than the file had", async () => {
    const file = freshFile();
    const store = openTestStore(file, { compactBytes: 2_000 });
    for (let round = 0; round < 200; round += 1) {
      await store.change("default", () => ({
        ops: [{ do: "entity", name: "same", type: `${round}` }],
        result: undefined,
      }));
    }
    expect(statSync(file).size).toBeLessThan(3_000);
    expect(store.read("default").entities.get("same")?.entityType).toBe("199");
  });

  test("replaces the target of a link, not the link", async () => {
    const file = await fileWith("one");
    const link = join(dirname(file), "link.log");
    symlinkSync(file, link);
    const store = openTestStore(link);
    await add(store, "two");
    await store.compact();
    expect(realpathSync(link)).toBe(realpathSync(file));
    expect(namesIn(openTestStore(file))).toEqual(["one", "two"]);
  });
});

describe("the file", () => {
  test("is accessible only to its owner, and so is its folder", async () => {
    const file = join(dirname(freshFile()), "deep", "folder", "memory.log");
    await add(openTestStore(file), "one");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(file)).mode & 0o777).toBe(0o700);
  });

  test("of another kind is refused and not changed", async () => {
    const file = freshFile();
    for (const content of ["a letter\nto Ada\n", "no end of line", '{"type":"entity","name":"x"}\n']) {
      writeFileSync(file, content);
      expect(() => openTestStore(file)).toThrow("is not a memory file");
      expect(readFileSync(file, "utf8")).toBe(content);
    }
    writeFileSync(file, '{"type":"entity","name":"x"}\n');
    expect(() => openTestStore(file)).toThrow("--import");
    const folder = `${file}.d`;
    mkdirSync(folder);
    expect(() => openTestStore(folder)).toThrow("not a regular file");
  });

  test("does not exceed its size limit, and a call that would is not applied partly", async () => {
    const file = freshFile();
    const store = openTestStore(file, { maxFileBytes: 2_000 });
    await add(store, "small");
    const observe = (texts: string[]) =>
      store.change("default", () => ({ ops: [{ do: "observe", name: "small", texts }], result: undefined }));
    await expect(observe(["x".repeat(3_000)])).rejects.toThrow("full");
    await observe(["fits"]);
    expect([...openTestStore(file).read("default").entities.get("small")!.observations]).toEqual(["fits"]);
  });

  test("is in the user's data folder by default, and a relative variable is ignored", () => {
    expect(defaultFile({ XDG_DATA_HOME: "/data/ada" })).toBe("/data/ada/portolan/memory.log");
    expect(defaultFile({ XDG_DATA_HOME: "../x" })).toBe(join(homedir(), ".local/share/portolan/memory.log"));
    expect(defaultFile({})).toBe(join(homedir(), ".local/share/portolan/memory.log"));
  });
});

test("does not apply a change that was cancelled while it waited", async () => {
  const store = openTestStore(freshFile());
  const leaving = new AbortController();
  const first = add(store, "first");
  const ops = [{ do: "entity", name: "second", type: "thing" }] as const;
  const second = store.change("default", () => ({ ops, result: undefined }), leaving.signal);
  leaving.abort(new Error("enough"));
  await expect(second).rejects.toThrow("enough");
  await first;
  expect(namesIn(store)).toEqual(["first"]);
});

test("a reader that saw a rolled-back write sees the next one instead", async () => {
  const file = await fileWith("one");
  const { size } = statSync(file);
  const reader = openTestStore(file);
  await add(openTestStore(file), "taken back");
  expect(namesIn(reader)).toEqual(["one", "taken back"]);
  truncateSync(file, size);
  const other = openTestStore(file);
  for (const name of ["came instead", "and more of it"]) await add(other, name);
  expect(namesIn(reader)).toEqual(["and more of it", "came instead", "one"]);
});

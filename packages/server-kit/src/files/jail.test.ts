import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openByPath, openFolder, PathChanged } from "./folder.ts";
import { Jail } from "./jail.ts";
import { openRoots } from "./roots.ts";

async function makeJail(holding: "descriptor" | "comparison") {
  const base = await realpath(await mkdtemp(join(tmpdir(), "portolan-jail-")));
  onTestFinished(() => rm(base, { recursive: true }));
  const [inside, outside] = [join(base, "inside"), join(base, "outside")];
  await mkdir(join(inside, "sub"), { recursive: true });
  await mkdir(outside);
  await mkdir(join(base, "inside-evil"));
  await writeFile(join(base, "inside-evil", "secret.txt"), "outside");
  await writeFile(join(inside, "a.txt"), "inside");
  await writeFile(join(inside, "sub", "b.txt"), "inside");
  await writeFile(join(outside, "secret.txt"), "outside");
  const jail = new Jail(openRoots([inside]), { hidden: false, holding });
  return { jail, base, inside, outside };
}

async function read(jail: Jail, path: string): Promise<string> {
  const { handle } = await jail.openFile(path);
  return handle.readFile("utf8").finally(() => handle.close());
}

describe.each(["descriptor", "comparison"] as const)("a jail held by %s", (holding) => {
  test("opens files inside, in any spelling", async () => {
    const { jail, inside } = await makeJail(holding);
    for (const path of [
      "a.txt",
      "./a.txt",
      "/a.txt".slice(1),
      "sub/../a.txt",
      "sub//../a.txt",
      join(inside, "a.txt"),
    ]) {
      expect(await read(jail, path)).toBe("inside");
    }
  });

  test("follows links that stay inside", async () => {
    const { jail, inside } = await makeJail(holding);
    await symlink("../a.txt", join(inside, "sub", "link.txt"));
    await symlink(join(inside, "sub"), join(inside, "door"));
    expect(await read(jail, "sub/link.txt")).toBe("inside");
    expect(await read(jail, "door/b.txt")).toBe("inside");
    expect((await jail.locate("door/b.txt")).path).toBe("sub/b.txt");
  });

  test("refuses links that lead outside, to nothing or in a circle, also before missing names", async () => {
    const { jail, inside, outside } = await makeJail(holding);
    await symlink(outside, join(inside, "door"));
    await symlink(join(outside, "secret.txt"), join(inside, "hole.txt"));
    await symlink(join(outside, "none.txt"), join(inside, "dangling.txt"));
    await symlink(join(outside, "none"), join(inside, "dangling"));
    await symlink("circle", join(inside, "circle"));
    for (const path of [
      "door/secret.txt",
      "door/new.txt",
      "door/a/new.txt",
      "hole.txt",
      "dangling.txt",
      "dangling/x.txt",
      "circle",
    ]) {
      await expect(jail.openFile(path), path).rejects.toThrow(/leads outside/);
      const made = jail.atEntry(path, { make: true }, async (folder, name) => writeFile(folder.at(name), "escaped"));
      await expect(made, path).rejects.toThrow(/leads outside/);
    }
    expect(await readdir(outside)).toEqual(["secret.txt"]);
    expect(await readFile(join(outside, "secret.txt"), "utf8")).toBe("outside");
  });

  test("refuses pipes and sockets without waiting for them", async () => {
    const { jail, inside } = await makeJail(holding);
    execFileSync("mkfifo", [join(inside, "pipe")]);
    const listener = createServer().listen(join(inside, "socket"));
    onTestFinished(() => void listener.close());
    for (const path of ["pipe", "socket"]) await expect(jail.openFile(path)).rejects.toThrow(/pipe, socket or device/);
  });

  test("creates missing folders inside", async () => {
    const { jail, inside } = await makeJail(holding);
    await jail.atEntry("x/y/z.txt", { make: true }, (folder, name) => writeFile(folder.at(name), "made"));
    expect(await readFile(join(inside, "x/y/z.txt"), "utf8")).toBe("made");
  });

  test("notices a folder or file that was swapped after its path was resolved", async () => {
    const { inside, outside } = await makeJail(holding);
    const path = join(inside, "sub");
    await writeFile(join(outside, "b.txt"), "outside");
    await rename(path, join(inside, "kept"));
    await symlink(outside, path);
    await expect(openFolder(path, holding)).rejects.toThrow(PathChanged);
    await expect(openByPath(join(path, "b.txt"), holding)).rejects.toThrow(PathChanged);
  });
});

test("a held folder stays the same when its path changes", async () => {
  const { inside, outside } = await makeJail("descriptor");
  const folder = await openFolder(join(inside, "sub"), "descriptor");
  await rename(join(inside, "sub"), join(inside, "kept"));
  await symlink(outside, join(inside, "sub"));
  await writeFile(folder.at("new.txt"), "inside");
  await folder.close();
  expect(await readdir(outside)).toEqual(["secret.txt"]);
  expect(await readdir(join(inside, "kept"))).toEqual(["b.txt", "new.txt"]);
});

test("detects a swapped folder before it is used", async () => {
  const { inside, outside } = await makeJail("comparison");
  const folder = await openFolder(join(inside, "sub"), "comparison");
  await rename(join(inside, "sub"), join(inside, "kept"));
  await symlink(outside, join(inside, "sub"));
  await expect(folder.check()).rejects.toThrow(PathChanged);
  await writeFile(join(outside, "b.txt"), "outside");
  await expect(folder.openFile("b.txt", 0)).rejects.toThrow(PathChanged);
  await expect(folder.openFolder("any")).rejects.toThrow(PathChanged);
});

test("with several folders, paths start with the name of one", async () => {
  const { inside, outside } = await makeJail("descriptor");
  const jail = new Jail(openRoots([inside, outside]), { hidden: false });
  expect(await read(jail, "inside/a.txt")).toBe("inside");
  expect(await read(jail, "outside/secret.txt")).toBe("outside");
  expect(await read(jail, join(outside, "secret.txt"))).toBe("outside");
  await expect(jail.openFile("a.txt")).rejects.toThrow(/start with one of the folders: inside \(.*\), outside/);
  await expect(jail.openFile("inside/../../inside-evil/secret.txt")).rejects.toThrow(/outside the served folders/);
  await symlink(outside, join(inside, "door"));
  expect((await jail.locate("inside/door/secret.txt")).path).toBe("outside/secret.txt");
});

test("serves a folder that is reached by a link under both names", async () => {
  const { base, inside } = await makeJail("descriptor");
  await symlink(inside, join(base, "alias"));
  const jail = new Jail(openRoots([join(base, "alias")]), { hidden: false });
  expect(await read(jail, join(base, "alias", "a.txt"))).toBe("inside");
  expect(await read(jail, join(inside, "a.txt"))).toBe("inside");
});

test("does not serve kernel or device folders, not even below /", async () => {
  expect(() => openRoots(["/proc"])).toThrow(/not a system folder/);
  expect(() => openRoots(["/dev"])).toThrow(/not a system folder/);
  expect(() => openRoots(["/sys/kernel"])).toThrow(/not a system folder/);
  const jail = new Jail(openRoots(["/"]), { hidden: true });
  for (const path of ["/proc/self/environ", "/dev/zero", "proc/version", "/sys/kernel/notes"]) {
    await expect(jail.openFile(path), path).rejects.toThrow(/outside/);
  }
});

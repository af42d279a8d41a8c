import { expect, test } from "vitest";
import { childEnvironment } from "./environment.ts";
import { windowsProgram } from "./process.ts";

const env = { Path: "C:\\tools;C:\\Program Files\\nodejs", SystemRoot: "C:\\Windows" };
const files = new Set(["C:\\Program Files\\nodejs\\npx.CMD", "C:\\tools\\server.EXE", "D:\\work\\bin\\run.BAT"]);
const isFile = (path: string) => files.has(path);
const cmd = "C:\\Windows\\System32\\cmd.exe";

test("a program on the PATH is started by its full path", () => {
  expect(windowsProgram({ command: "server", args: ["%PATH%", '"'] }, env, isFile)).toEqual({
    command: "C:\\tools\\server.EXE",
    args: ["%PATH%", '"'],
    verbatim: false,
  });
});

test("a batch file is run by cmd.exe with every word quoted", () => {
  expect(windowsProgram({ command: "npx", args: ["-y", "a&b|c", "C:\\some dir\\"] }, env, isFile)).toEqual({
    command: cmd,
    args: ["/d", "/s", "/v:off", "/c", '""C:\\Program Files\\nodejs\\npx.CMD" "-y" "a&b|c" "C:\\some dir\\\\""'],
    verbatim: true,
  });
});

test("a relative path is looked for in the directory of the child", () => {
  const { args } = windowsProgram({ command: ".\\bin\\run", cwd: "D:\\work" }, env, isFile);
  expect(args.at(-1)).toBe('""D:\\work\\bin\\run.BAT""');
});

test.each(['a"b', "%PATH%", "a!b", "a\nb", "a\rb"])("a batch file is not given %j", (argument) => {
  expect(() => windowsProgram({ command: "npx", args: [argument] }, env, isFile)).toThrow(
    'the batch file npx.CMD cannot be given " % ! or a line break safely',
  );
});

test("what is not found is left to the system to refuse", () => {
  expect(windowsProgram({ command: "nothing", args: ["x"] }, env, isFile)).toEqual({
    command: "nothing",
    args: ["x"],
    verbatim: false,
  });
});

test("a child gets what every program needs and nothing else of ours", () => {
  const own = {
    PATH: "/bin",
    HOME: "/home/ada",
    LC_ALL: "C",
    TZ: "UTC",
    AWS_SECRET_ACCESS_KEY: "s",
    NODE_OPTIONS: "--inspect",
    LD_PRELOAD: "/x.so",
    DYLD_INSERT_LIBRARIES: "/x.dylib",
    path: "/other",
  };
  expect(childEnvironment(own, {}, "linux")).toEqual({ PATH: "/bin", HOME: "/home/ada", LC_ALL: "C", TZ: "UTC" });
});

test("what is set for the child wins, whatever it is", () => {
  expect(
    childEnvironment({ PATH: "/bin" }, { PATH: "/opt", NODE_OPTIONS: "--no-warnings", EMPTY: "" }, "linux"),
  ).toEqual({ PATH: "/opt", NODE_OPTIONS: "--no-warnings", EMPTY: "" });
});

test("a shell function exported by bash is not passed on", () => {
  expect(childEnvironment({ TERM: "() { :; }; echo", LANG: "C" }, {}, "linux")).toEqual({ LANG: "C" });
});

test("on Windows names differ from one another by more than their case", () => {
  const own = { Path: "C:\\bin", SystemRoot: "C:\\Windows", ProgramData: "C:\\data", HOME: "x", Secret: "s" };
  expect(childEnvironment(own, { PATH: "D:\\bin" }, "win32")).toEqual({
    PATH: "D:\\bin",
    SystemRoot: "C:\\Windows",
    ProgramData: "C:\\data",
  });
});

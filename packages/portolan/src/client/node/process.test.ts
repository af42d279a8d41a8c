import { expect, test } from "vitest";
import { childEnvironment } from "./environment.ts";
import { windowsProgram } from "./process.ts";

const env = { Path: "C:\\tools;C:\\Program Files\\nodejs", SystemRoot: "C:\\Windows" };
const files = new Set(["C:\\Program Files\\nodejs\\npx.CMD", "C:\\tools\\server.EXE", "D:\\work\\bin\\run.BAT"]);
const isFile = (path: string) => files.has(path);
const cmd = "C:\\Windows\\System32\\cmd.exe";

test("starts a program on the PATH by its full path", () => {
  expect(windowsProgram({ command: "server", args: ["%PATH%", '"'] }, env, isFile)).toEqual({
    command: "C:\\tools\\server.EXE",
    args: ["%PATH%", '"'],
    verbatim: false,
  });
});

test("runs a batch file with cmd.exe and quotes every word", () => {
  expect(windowsProgram({ command: "npx", args: ["-y", "a&b|c", "C:\\some dir\\"] }, env, isFile)).toEqual({
    command: cmd,
    args: ["/d", "/s", "/v:off", "/c", '""C:\\Program Files\\nodejs\\npx.CMD" "-y" "a&b|c" "C:\\some dir\\\\""'],
    verbatim: true,
  });
});

test("resolves a relative path in the working directory of the child", () => {
  const { args } = windowsProgram({ command: ".\\bin\\run", cwd: "D:\\work" }, env, isFile);
  expect(args.at(-1)).toBe('""D:\\work\\bin\\run.BAT""');
});

test.each(['a"b', "%PATH%", "a!b", "a\nb", "a\rb"])("refuses %j as an argument of a batch file", (argument) => {
  expect(() => windowsProgram({ command: "npx", args: [argument] }, env, isFile)).toThrow(
    'the arguments of the batch file npx.CMD must not contain " % ! or a line break',
  );
});

test("leaves an unknown program to the system", () => {
  expect(windowsProgram({ command: "nothing", args: ["x"] }, env, isFile)).toEqual({
    command: "nothing",
    args: ["x"],
    verbatim: false,
  });
});

test("passes on only the variables that every program needs", () => {
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

test("prefers the variables set for the child", () => {
  expect(
    childEnvironment({ PATH: "/bin" }, { PATH: "/opt", NODE_OPTIONS: "--no-warnings", EMPTY: "" }, "linux"),
  ).toEqual({ PATH: "/opt", NODE_OPTIONS: "--no-warnings", EMPTY: "" });
});

test("does not pass on shell functions exported by bash", () => {
  expect(childEnvironment({ TERM: "() { :; }; echo", LANG: "C" }, {}, "linux")).toEqual({ LANG: "C" });
});

test("compares names without case on Windows", () => {
  const own = { Path: "C:\\bin", SystemRoot: "C:\\Windows", ProgramData: "C:\\data", HOME: "x", Secret: "s" };
  expect(childEnvironment(own, { PATH: "D:\\bin" }, "win32")).toEqual({
    PATH: "D:\\bin",
    SystemRoot: "C:\\Windows",
    ProgramData: "C:\\data",
  });
});

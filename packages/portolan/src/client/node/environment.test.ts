import { expect, test } from "vitest";
import { childEnvironment } from "./environment.ts";

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

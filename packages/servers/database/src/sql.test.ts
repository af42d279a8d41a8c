import { describe, expect, test } from "vitest";
import { toPositions, trimEnd } from "./sql.ts";

describe("trimEnd removes what follows a statement", () => {
  test.each([
    ["SELECT 1", "SELECT 1"],
    ["SELECT 1 ;; \n", "SELECT 1"],
    ["SELECT 1; -- done", "SELECT 1"],
    ["SELECT 1 /* one */ ; /* two", "SELECT 1"],
    ["SELECT '-- no comment'", "SELECT '-- no comment'"],
    ["SELECT 'it''s; -- ' ;", "SELECT 'it''s; -- '"],
    ['SELECT "a;--" ;', 'SELECT "a;--"'],
    ["SELECT [a;--] ;", "SELECT [a;--]"],
    ["SELECT `a;--` ;", "SELECT `a;--`"],
    ["SELECT 1; SELECT 2;", "SELECT 1; SELECT 2"],
    ["SELECT 'unterminated ;", "SELECT 'unterminated ;"],
    [" ; -- nothing", ""],
    ["\uFEFFSELECT 1;", "\uFEFFSELECT 1"],
  ])("%j is %j", (sql, expected) => {
    expect(trimEnd(sql, "sqlite")).toBe(expected);
  });
});

describe("toPositions replaces names by positions", () => {
  test.each([
    ["a = :a AND b = :b AND c = :a", "a = $1 AND b = $2 AND c = $1", ["a", "b"]],
    ["b = :b AND a=:a", "b = $1 AND a=$2", ["b", "a"]],
    ["':a' \":a\" -- :a", "':a' \":a\" -- :a", []],
    ["$$ :a $$ $x$ :a $$ :a $x$ :a", "$$ :a $$ $x$ :a $$ :a $x$ $1", ["a"]],
    ["E'\\' :a' || :a", "E'\\' :a' || $1", ["a"]],
    ["'\\' || :a", "'\\' || $1", ["a"]],
    ["/* :a /* :a */ :a */ :a", "/* :a /* :a */ :a */ $1", ["a"]],
    ["/* :a /* :a */ :a", "/* :a /* :a */ :a", []],
    ["x::a, y := :a, :a::text", "x::a, y := $1, $1::text", ["a"]],
    ["list[1:a], list[b:a], list[(1):a], list[1: :a]", "list[1:a], list[b:a], list[(1):a], list[1: $1]", ["a"]],
    [":abc, :c", ":abc, :c", []],
    ["a$x$:a", "a$x$:a", []],
    ["(:a)", "($1)", ["a"]],
    [":ä", "$1", ["ä"]],
  ])("%s", (sql, expected, used) => {
    expect(toPositions(sql, ["a", "b", "ä"])).toEqual({ sql: expected, used });
  });

  test("leaves everything else unchanged, even odd and long input", () => {
    for (const piece of ["'", "$", "/*", "*/", "$a$", ":a ", "E'\\", '"', "--\n", "a:b::", "😀"]) {
      const sql = piece.repeat(50_000);
      expect(toPositions(sql, []).sql === sql, piece).toBe(true);
    }
  });
});

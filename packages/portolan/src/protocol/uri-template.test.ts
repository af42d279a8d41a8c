import { describe, expect, test } from "vitest";
import { parseUriTemplate, type UriValue } from "./uri-template.ts";

const values: Record<string, UriValue | undefined> = {
  count: ["one", "two", "three"],
  dom: ["example", "com"],
  dub: "me/too",
  hello: "Hello World!",
  half: "50%",
  var: "value",
  who: "fred",
  base: "http://example.com/home/",
  path: "/foo/bar",
  list: ["red", "green", "blue"],
  keys: { semi: ";", dot: ".", comma: "," },
  v: "6",
  x: "1024",
  y: "768",
  empty: "",
  empty_keys: [],
  undef: undefined,
};

// Template and expansion, by level and operator of RFC 6570.
const facts: [string, string][] = [
  ["{var}", "value"],
  ["{hello}", "Hello%20World%21"],
  ["{half}", "50%25"],
  ["O{empty}X", "OX"],
  ["O{undef}X", "OX"],
  ["{x,y}", "1024,768"],
  ["{x,hello,y}", "1024,Hello%20World%21,768"],
  ["?{x,empty}", "?1024,"],
  ["?{x,undef}", "?1024"],
  ["?{undef,y}", "?768"],
  ["map?{x,y}", "map?1024,768"],
  ["{var:3}", "val"],
  ["{var:30}", "value"],
  ["{list}", "red,green,blue"],
  ["{list*}", "red,green,blue"],
  ["{keys}", "semi,%3B,dot,.,comma,%2C"],
  ["{keys*}", "semi=%3B,dot=.,comma=%2C"],
  ["{count}", "one,two,three"],
  ["'{count}'", "'one,two,three'"],
  ["{+var}", "value"],
  ["{+hello}", "Hello%20World!"],
  ["{+half}", "50%25"],
  ["{base}index", "http%3A%2F%2Fexample.com%2Fhome%2Findex"],
  ["{+base}index", "http://example.com/home/index"],
  ["O{+empty}X", "OX"],
  ["O{+undef}X", "OX"],
  ["{+path}/here", "/foo/bar/here"],
  ["here?ref={+path}", "here?ref=/foo/bar"],
  ["up{+path}{var}/here", "up/foo/barvalue/here"],
  ["{+x,hello,y}", "1024,Hello%20World!,768"],
  ["{+path,x}/here", "/foo/bar,1024/here"],
  ["{+path:6}/here", "/foo/b/here"],
  ["{+list}", "red,green,blue"],
  ["{+list*}", "red,green,blue"],
  ["{+keys}", "semi,;,dot,.,comma,,"],
  ["{+keys*}", "semi=;,dot=.,comma=,"],
  ["{#var}", "#value"],
  ["{#hello}", "#Hello%20World!"],
  ["{#half}", "#50%25"],
  ["foo{#empty}", "foo#"],
  ["foo{#undef}", "foo"],
  ["{#x,hello,y}", "#1024,Hello%20World!,768"],
  ["{#path,x}/here", "#/foo/bar,1024/here"],
  ["{#path:6}/here", "#/foo/b/here"],
  ["{#list*}", "#red,green,blue"],
  ["{#keys}", "#semi,;,dot,.,comma,,"],
  ["{#keys*}", "#semi=;,dot=.,comma=,"],
  ["{.who}", ".fred"],
  ["{.who,who}", ".fred.fred"],
  ["{.half,who}", ".50%25.fred"],
  ["www{.dom*}", "www.example.com"],
  ["X{.var}", "X.value"],
  ["X{.empty}", "X."],
  ["X{.undef}", "X"],
  ["X{.var:3}", "X.val"],
  ["X{.list}", "X.red,green,blue"],
  ["X{.list*}", "X.red.green.blue"],
  ["X{.keys}", "X.semi,%3B,dot,.,comma,%2C"],
  ["X{.keys*}", "X.semi=%3B.dot=..comma=%2C"],
  ["X{.empty_keys}", "X"],
  ["X{.empty_keys*}", "X"],
  ["{/who}", "/fred"],
  ["{/who,who}", "/fred/fred"],
  ["{/half,who}", "/50%25/fred"],
  ["{/who,dub}", "/fred/me%2Ftoo"],
  ["{/var,empty}", "/value/"],
  ["{/var,undef}", "/value"],
  ["{/var,x}/here", "/value/1024/here"],
  ["{/var:1,var}", "/v/value"],
  ["{/list}", "/red,green,blue"],
  ["{/list*}", "/red/green/blue"],
  ["{/list*,path:4}", "/red/green/blue/%2Ffoo"],
  ["{/keys}", "/semi,%3B,dot,.,comma,%2C"],
  ["{/keys*}", "/semi=%3B/dot=./comma=%2C"],
  ["{;who}", ";who=fred"],
  ["{;half}", ";half=50%25"],
  ["{;empty}", ";empty"],
  ["{;v,empty,who}", ";v=6;empty;who=fred"],
  ["{;v,undef,who}", ";v=6;who=fred"],
  ["{;x,y,empty}", ";x=1024;y=768;empty"],
  ["{;hello:5}", ";hello=Hello"],
  ["{;list}", ";list=red,green,blue"],
  ["{;list*}", ";list=red;list=green;list=blue"],
  ["{;keys}", ";keys=semi,%3B,dot,.,comma,%2C"],
  ["{;keys*}", ";semi=%3B;dot=.;comma=%2C"],
  ["{?who}", "?who=fred"],
  ["{?half}", "?half=50%25"],
  ["{?x,y}", "?x=1024&y=768"],
  ["{?x,y,empty}", "?x=1024&y=768&empty="],
  ["{?x,y,undef}", "?x=1024&y=768"],
  ["{?var:3}", "?var=val"],
  ["{?list}", "?list=red,green,blue"],
  ["{?list*}", "?list=red&list=green&list=blue"],
  ["{?keys}", "?keys=semi,%3B,dot,.,comma,%2C"],
  ["{?keys*}", "?semi=%3B&dot=.&comma=%2C"],
  ["{&who}", "&who=fred"],
  ["?fixed=yes{&x}", "?fixed=yes&x=1024"],
  ["{&x,y,empty}", "&x=1024&y=768&empty="],
  ["{&var:3}", "&var=val"],
  ["{&list*}", "&list=red&list=green&list=blue"],
  ["{&keys*}", "&semi=%3B&dot=.&comma=%2C"],
];

describe("expand", () => {
  test.each(facts)("%s gives %s", (template, uri) => {
    expect(parseUriTemplate(template).expand(values)).toBe(uri);
  });

  test("literals beyond ASCII are escaped, escapes in reserved values are kept, a prefix counts characters", () => {
    expect(parseUriTemplate("café/%c3%a9/{x}").expand({ x: "ü" })).toBe("caf%C3%A9/%C3%A9/%C3%BC");
    expect(parseUriTemplate("{+x}").expand({ x: "a%2Fb%zz%" })).toBe("a%2Fb%25zz%25");
    expect(parseUriTemplate("{x:2}").expand({ x: "🗺🗺🗺" })).toBe("%F0%9F%97%BA%F0%9F%97%BA");
  });

  test("only own members of the values count", () => {
    const template = parseUriTemplate("a{constructor}{__proto__}{toString}");
    expect(template.expand({})).toBe("a");
    expect(template.expand(JSON.parse('{"__proto__":"p"}'))).toBe("ap");
  });

  test("what cannot be written is refused with the variable's name", () => {
    expect(() => parseUriTemplate("{x:3}").expand({ x: ["a"] })).toThrow('Variable "x": expected a string');
    expect(() => parseUriTemplate("{x}").expand({ x: "\uD800" })).toThrow('Variable "x": expected well-formed text');
  });
});

describe("parse", () => {
  test("names are given once each, in order", () => {
    const template = parseUriTemplate("a{x,y:3}/{z*}{?x,a.b,%41}");
    expect(template.variables).toEqual(["x", "y", "z", "a.b", "%41"]);
    expect(template.text).toBe("a{x,y:3}/{z*}{?x,a.b,%41}");
  });

  test.each([
    ["a{b", 'expected "}" for this "{" at position 1'],
    ["a}b", 'got "}" at position 1'],
    ["a b", 'got " " at position 1'],
    ["a%2", 'expected two hex digits after "%" at position 1'],
    ["{}", "expected a variable name"],
    ["{+}", "at position 2"],
    ["{a,}", "at position 3"],
    ["{a{b}}", "at position 2"],
    ["{=a}", "at position 1"],
    ["{|a}", "at position 1"],
    ["{user-id}", "at position 5"],
    ["{.}", "at position 2"],
    ["{a..b}", "at position 3"],
    ["{a.}", "at position 2"],
    ["{a b}", "at position 2"],
    ["{a%4}", "at position 2"],
    ["{*}", "at position 1"],
    ["{a**}", "at position 2"],
    ["{a:}", 'expected a length from 1 to 9999 after ":" at position 3'],
    ["{a:0}", "at position 3"],
    ["{a:10000}", "at position 3"],
    ["{a:01}", "at position 3"],
    ["{a:3*}", "at position 3"],
    ["\uD800", "half a surrogate pair at position 0"],
    ["x".repeat(9_000), "expected at most 8192 characters"],
    ["{a}".repeat(101), "expected at most 100 expressions"],
  ])("%j is refused with the position", (template, message) => {
    expect(() => parseUriTemplate(template)).toThrow(message);
    expect(() => parseUriTemplate(template)).toThrow(expect.objectContaining({ code: "invalid-definition" }));
  });
});

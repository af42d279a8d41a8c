import fc from "fast-check";
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

  test("escapes literals beyond ASCII, keeps escapes in reserved values, counts characters of a prefix", () => {
    expect(parseUriTemplate("café/%c3%a9/{x}").expand({ x: "ü" })).toBe("caf%C3%A9/%C3%A9/%C3%BC");
    expect(parseUriTemplate("{+x}").expand({ x: "a%2Fb%zz%" })).toBe("a%2Fb%25zz%25");
    expect(parseUriTemplate("{x:2}").expand({ x: "🗺🗺🗺" })).toBe("%F0%9F%97%BA%F0%9F%97%BA");
  });

  test("ignores inherited members of the values", () => {
    const template = parseUriTemplate("a{constructor}{__proto__}{toString}");
    expect(template.expand({})).toBe("a");
    expect(template.expand(JSON.parse('{"__proto__":"p"}'))).toBe("ap");
  });

  test("refuses values without a URI form, with the variable's name", () => {
    expect(() => parseUriTemplate("{x:3}").expand({ x: ["a"] })).toThrow('Variable "x": expected a string');
    expect(() => parseUriTemplate("{x}").expand({ x: "\uD800" })).toThrow('Variable "x": expected well-formed text');
  });
});

describe("parse", () => {
  test("lists each variable once, in order", () => {
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
  ])("refuses %j with the position", (template, message) => {
    expect(() => parseUriTemplate(template)).toThrow(message);
    expect(() => parseUriTemplate(template)).toThrow(expect.objectContaining({ code: "invalid-definition" }));
  });
});

describe("match", () => {
  const cases: [string, string, Record<string, string | string[]> | undefined][] = [
    ["note://all", "note://all", {}],
    ["note://all", "note://all/", undefined],
    ["", "", {}],
    ["", "a", undefined],
    ["note://{id}", "note://42", { id: "42" }],
    ["note://{id}", "note://", undefined],
    ["note://{id}", "note://a/b", undefined],
    ["note://{id}", "note://a?b", undefined],
    ["note://{id}", "note://a#b", undefined],
    ["note://{id}", "note://a%2Fb%3f%23", { id: "a/b?#" }],
    ["note://{id}", "note://a,b:c;d=e&f@g", { id: "a,b:c;d=e&f@g" }],
    ["note://{id}", "memo://1", undefined],
    ["a/{x}/b/{y}", "a/1/b/2", { x: "1", y: "2" }],
    ["a/{x}/b/{y}", "a/1/b/", undefined],
    ["{x}-{y}", "1-2-3", { x: "1", y: "2-3" }],
    ["{x,y}", "1,2", { x: "1", y: "2" }],
    ["{x,y}", "1", { x: "1" }],
    ["{x,y}", "1,2,3", undefined],
    ["{x,y}", ",2", { x: "", y: "2" }],
    ["{x*}", "1,2,3", { x: ["1", "2", "3"] }],
    ["{x*,y}", "1,2,3", { x: ["1", "2"], y: "3" }],
    ["{x*,y}", "1", { x: ["1"] }],
    ["{x}{y}", "abc", { x: "a", y: "bc" }],
    ["file:///{+path}", "file:///a/b?c#d", { path: "a/b?c#d" }],
    ["file:///{+path}", "file:///", undefined],
    ["{+path}/edit", "a/edit/b/edit", { path: "a/edit/b" }],
    ["{+path}/x/{id}", "a/x/b/x/c", { path: "a/x/b", id: "c" }],
    ["{+path}/x/{+rest}", "a/x/b/x/c", { path: "a", rest: "b/x/c" }],
    ["{+path}{?q}", "a/b?q=1", { path: "a/b", q: "1" }],
    ["{+path}{#part}", "a#b#c", { path: "a", part: "b#c" }],
    ["a{#x}", "a", {}],
    ["a{#x}", "a#", { x: "" }],
    ["a{#x,y}", "a#1,/2", { x: "1", y: "/2" }],
    ["{name}{.ext}", "a.tar.gz", { name: "a.tar", ext: "gz" }],
    ["{name}{.ext*}", "a.tar.gz", { name: "a", ext: ["tar", "gz"] }],
    ["{name}{.ext}", "a", { name: "a" }],
    ["X{.a,b}", "X.1.2", { a: "1", b: "2" }],
    ["X{.a,b}", "X.1.2.3", undefined],
    ["root{/x}", "root", {}],
    ["root{/x}", "root/", { x: "" }],
    ["root{/x}", "root/a/b", undefined],
    ["root{/x,y}", "root/a/b", { x: "a", y: "b" }],
    ["root{/x}{/y}", "root/a", { x: "a" }],
    ["root{/x*}", "root/a/b%2Fc//", { x: ["a", "b/c", "", ""] }],
    ["root{/x*}/edit", "root/a/edit/edit", { x: ["a", "edit"] }],
    ["root{/x*}", "root/a?b", undefined],
    ["{/var:1,var}", "/v/value", { var: "value" }],
    ["{/var:1,var}", "/w/value", undefined],
    ["{x:3}", "abc", { x: "abc" }],
    ["{x:3}", "abcd", undefined],
    ["{x:1}", "%F0%9F%97%BA", { x: "🗺" }],
    ["{x}/{x}", "a/a", { x: "a" }],
    ["{x}/{x}", "a/b", undefined],
    ["map{;x,y}", "map;y=2;x=1", { x: "1", y: "2" }],
    ["map{;x,y}", "map;x", { x: "" }],
    ["map{;x}{;y}", "map;y=2", { y: "2" }],
    ["map{;x}", "map;z=1", undefined],
    ["map{;x,y}/go", "map;x=1;y=2/go", { x: "1", y: "2" }],
    ["find{?a,b}", "find", {}],
    ["find{?a,b}", "find?b=2&a=1", { a: "1", b: "2" }],
    ["find{?a,b}", "find?b=2", { b: "2" }],
    ["find{?a,b}", "find?a=x/y?z,%26", { a: "x/y?z,&" }],
    ["find{?a,b}", "find?a", { a: "" }],
    ["find{?a,b}", "find?a=&b=", { a: "", b: "" }],
    ["find{?a,b}", "find?a=1=2", { a: "1=2" }],
    ["find{?a,b}", "find?a=1&c=3", undefined],
    ["find{?a,b}", "find?a=1&a=2", undefined],
    ["find{?a,b}", "find?", undefined],
    ["find{?a,b}", "find?a=1&", undefined],
    ["find{?a,b}", "find?ab=1", undefined],
    ["find{?a*}", "find?a=1&a=2", { a: ["1", "2"] }],
    ["find{?a*,b}", "find?a=1&b=x&a=2", { a: ["1", "2"], b: "x" }],
    ["find{?a*}{&b*}", "find?a=1&a=2&b=3&b=4", { a: ["1", "2"], b: ["3", "4"] }],
    ["find?fixed=1{&c}", "find?fixed=1&c=2", { c: "2" }],
    ["find?fixed=1{&c}", "find?fixed=1", {}],
    ["find{?a}{#b}", "find?a=1#2", { a: "1", b: "2" }],
    ["café/{x}", "caf%c3%a9/%c3%bc", { x: "ü" }],
    ["caf%C3%A9/{x}", "café/ü", { x: "ü" }],
    ["{x}{y}", "%C3%A9%C3%BC", { x: "é", y: "ü" }],
    ["{x}2{y}", "a%2F2b", { x: "a/", y: "b" }],
    ["a/{x}", "a/%00%0A", { x: "\0\n" }],
    ["a/{x}", "a/%", undefined],
    ["a/{x}", "a/%4", undefined],
    ["a/{x}", "a/%zz", undefined],
    ["a/{x}", "a/%C3", undefined],
    ["a/{x}", "a/%FF", undefined],
    ["a/{x}", "a/\uD800", undefined],
    ["a/{x}", `a/${"b".repeat(8_190)}`, { x: "b".repeat(8_190) }],
    ["a/{x}", `a/${"b".repeat(8_191)}`, undefined],
    ["a/{x}", `a/${"é".repeat(2_000)}`, undefined],
  ];

  test.each(cases)("%s on %s", (template, uri, expected) => {
    const matched = parseUriTemplate(template).match(uri);
    expect(matched && { ...matched }).toEqual(expected);
  });

  test("accepts a variable named __proto__", () => {
    const matched = parseUriTemplate("{__proto__}/{constructor}{?toString*}").match("a/b?toString=c");
    expect(Object.entries(matched ?? {})).toEqual([
      ["__proto__", "a"],
      ["constructor", "b"],
      ["toString", ["c"]],
    ]);
    expect(Object.getPrototypeOf(matched)).toBeNull();
    expect(({} as { a?: unknown }).a).toBeUndefined();
  });

  test("has no member for an absent variable", () => {
    const matched = parseUriTemplate("a{?constructor}").match("a");
    expect(matched?.["constructor"]).toBeUndefined();
  });
});

describe("match undoes expand", () => {
  const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });
  const dotless = text.filter((value) => !value.includes("."));
  const path = fc.array(fc.constantFrom("a", "b.txt", "with space", "ümlaut", ".."), { minLength: 1 });
  const list = fc.array(text, { minLength: 1, maxLength: 4 });
  const optional = (arbitrary: fc.Arbitrary<string | string[]>) => fc.option(arbitrary, { nil: undefined });
  const unambiguous: [string, Record<string, fc.Arbitrary<string | string[] | undefined>>][] = [
    ["note://{id}", { id: text }],
    ["db://{schema}/tables/{table}/{column}", { schema: text, table: text, column: text }],
    ["file:///{+path}", { path: path.map((segments) => segments.join("/")) }],
    ["files{/path*}", { path: optional(fc.array(text, { minLength: 1 })) }],
    [
      "files{/path*}{?at,tag*}{#part}",
      { path: list, at: optional(text), tag: optional(list), part: optional(fc.constantFrom("", "a/b")) },
    ],
    ["list/{x*}/and/{y,z}", { x: list, y: text, z: text }],
    ["img{;w,h}/{name}{.ext}", { w: optional(text), h: optional(text), name: dotless, ext: optional(dotless) }],
    ["q?fixed=1{&a,b,c*}", { a: optional(text), b: optional(fc.constant("")), c: optional(list) }],
    ["{a}:{b}/{a:2}", { a: text, b: text }],
  ];

  test.each(unambiguous)("%s", (template, arbitraries) => {
    const parsed = parseUriTemplate(template);
    fc.assert(
      fc.property(fc.record(arbitraries), (given) => {
        const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
        expect({ ...parsed.match(parsed.expand(given)) }).toEqual(present);
      }),
    );
  });

  // The reading may differ from what was written; what it stands for may not.
  test("matches every URI that it expands, and expands the values to an equivalent URI", () => {
    const word = fc.stringMatching(/^[a-c1 é]{1,5}$/);
    const variable = fc.record({ isList: fc.boolean(), words: fc.array(word, { maxLength: 3 }) });
    const expression = fc.record({
      operator: fc.constantFrom("", "+", "#", ".", "/", ";", "?", "&"),
      variables: fc.array(variable, { minLength: 1, maxLength: 3 }),
      literal: fc.constantFrom("", "/", "/a/", "/é"),
    });
    const run = fc.property(fc.array(expression, { minLength: 1, maxLength: 6 }), (expressions) => {
      let source = "";
      let count = 0;
      const given: Record<string, string | string[]> = {};
      for (const { operator, variables, literal } of expressions) {
        const [mayBeAbsent, keepsSlash] = [!["", "+"].includes(operator), ["+", "#"].includes(operator)];
        const names = variables.map(({ isList, words }) => {
          const name = `v${count++}`;
          const present = words.length > 0 || mayBeAbsent ? words : ["a"];
          if (present.length > 0) given[name] = isList ? present : present.join(keepsSlash ? "/" : "");
          return isList ? `${name}*` : name;
        });
        // Two values with nothing between them could be cut anywhere.
        if (source.endsWith("}") && !mayBeAbsent) source += "/";
        source += `{${operator}${names.join(",")}}${literal}`;
      }
      const parsed = parseUriTemplate(source);
      const uri = parsed.expand(given);
      const matched = parsed.match(uri);
      expect(matched, `${source} on ${uri}`).toBeDefined();
      expect(decodeURIComponent(parsed.expand(matched ?? {}))).toBe(decodeURIComponent(uri));
    });
    fc.assert(run, { numRuns: 1_000 });
  });
});

describe("hostile input", () => {
  test("never throws for any text", () => {
    const templates = ["{a}{b}", "{+a}/{+b}{?c*}", "x{/a*}{.b}{;c}{#d}", "{a:2}{a}", "{?a,b}{&c}"].map(
      parseUriTemplate,
    );
    const uri = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: fc.constantFrom(..."x/a=%2F.;?&#,\uD800") }));
    fc.assert(
      fc.property(uri, (text) => {
        for (const template of templates) {
          const matched = template.match(text);
          if (matched !== undefined) expect(Object.getPrototypeOf(matched)).toBeNull();
        }
      }),
    );
  });

  // Each would take exponential or cubic time in a matcher that tries again; the test's time limit would end it.
  test.each([
    ["variables side by side", "{a}{b}{c}{d}{e}{f}{g}{h}!", "a"],
    ["reserved variables side by side", "{+a}{+b}{+c}{+d}{+e}{+f}!", "a"],
    ["a literal that values hold too", "{a}a{b}a{c}a{d}a{e}a{f}a!", "a"],
    ["a hundred lists of segments", `${"{/x*}".repeat(100)}!`, "/"],
    ["a hundred paths", `${"{+x}/".repeat(100)}!`, "/"],
    ["queries in turn", `${"{?a*}{&a*}".repeat(50)}!`, "?a=1&a=1"],
    ["a hundred parameter lists", `${"{;a,b,c*}".repeat(100)}!`, ";a;b;c"],
    ["a hundred lists of labels", `${"{.x*,y}".repeat(100)}!`, "."],
    ["a long literal between paths", `{+x}${"a".repeat(8_000)}{+y}!`, "a"],
    ["a long name", `{?${"a".repeat(4_000)},b}!`, "&a"],
    ["many names", `{?${Array.from({ length: 1_500 }, (_, n) => `a${n}`).join(",")}}!`, "?a&"],
    ["a list of nothing", "{x*}!", ","],
    ["half escapes", "{x}!", "%"],
    ["escaped escapes", "{x}!", "%25"],
    ["escaped characters", "{x}!", "%C3%A9"],
  ])("%s: a long URI made for the template is refused", (_, template, unit) => {
    const parsed = parseUriTemplate(template);
    const uri = unit.repeat(Math.floor(8_192 / unit.length));
    expect(parsed.match(uri)).toBeUndefined();
    expect(parsed.match(uri.repeat(600))).toBeUndefined();
  });

  test("matches the longest allowed URI", () => {
    const parsed = parseUriTemplate("{+a}{+b}{/c*}!{?d*}");
    expect(parsed.match(`${"a/".repeat(4_090)}!`)).toBeDefined();
    expect(parsed.match(`aa!?${Array(1_600).fill("d=1").join("&")}`)?.["d"]).toHaveLength(1_600);
  });
});

import type { Tool, ToolAnnotations } from "portolan";
import { describe, expect, test } from "vitest";
import { compileGlob, compilePolicy, type Effect, hintsOf, type PolicyCall, type Rule } from "./policy.ts";

const definition: Tool = { name: "push", inputSchema: { type: "object" } };

function call(more: Partial<PolicyCall> = {}): PolicyCall {
  const { server = "git", tool = "push" } = more;
  return {
    server,
    tool,
    name: `${server}.${tool}`,
    readOnly: false,
    destructive: false,
    idempotent: false,
    openWorld: false,
    trusted: true,
    definition,
    args: {},
    contentFrom: [],
    resourcesFrom: [],
    ...more,
  };
}

const decide = (rules: readonly Rule[], more?: Partial<PolicyCall>) => compilePolicy(rules).decide(call(more));
const effect = (rules: readonly Rule[], more?: Partial<PolicyCall>) => decide(rules, more).effect;

describe("rules", () => {
  test("the first matching rule decides, with its index and reason", () => {
    const rules: Rule[] = [
      { match: "files.*", then: "allow" },
      { match: ["git.pull", "git.push"], then: "deny", reason: "Nobody pushes on Fridays." },
      { match: "git.*", then: "allow" },
    ];
    expect(decide(rules)).toEqual({ effect: "deny", rule: 1, reason: "Nobody pushes on Fridays.", cautions: [] });
    expect(decide(rules, { tool: "log" })).toMatchObject({
      effect: "allow",
      rule: 2,
      reason: "Rule 3 of the policy says allow.",
    });
  });

  test("without a match the effect is ask", () => {
    expect(decide([])).toEqual({ effect: "ask", reason: "You have not allowed this before.", cautions: [] });
    expect(effect([{ match: "files.*", then: "allow" }])).toBe("ask");
  });

  test("a rule that allows covers no tool of an app unless it says so, any other rule does", () => {
    const offered = { app: "ui://git/log" };
    for (const then of ["ask", "deny"] as const) {
      expect(decide([{ match: "git.push", then }], offered)).toMatchObject({ effect: then, rule: 0 });
      expect(decide([{ match: "git.push", app: false, then }], offered)).not.toHaveProperty("rule");
      expect(decide([{ match: "git.push", app: true, then }])).not.toHaveProperty("rule");
    }
    expect(effect([{ then: "allow" }], offered)).toBe("ask");
    expect(effect([{ app: true, then: "allow" }], offered)).toBe("allow");
    expect(effect([{ app: true, then: "allow" }])).toBe("ask");
    expect(() => compilePolicy([{ app: "ui://git/log" as never, then: "allow" }])).toThrow(/app: expected a boolean/);
    expect(compilePolicy([{ app: true, then: "deny" }, { then: "allow" }]).allowsAlways(call())).toBe(true);
  });

  test("server matches names with dots", () => {
    const rules: Rule[] = [{ server: "a.b", then: "allow" }];
    expect(effect(rules, { server: "a.b", tool: "c" })).toBe("allow");
    expect(effect(rules, { server: "a", tool: "b.c" })).toBe("ask");
  });

  test("a rule that allows a server does not cover a name with a dot, a rule that denies does", () => {
    const evil = { server: "git.evil", tool: "push" };
    expect(effect([{ match: "git.*", then: "allow" }], evil)).toBe("ask");
    expect(effect([{ match: ["*.pull", "git.evil*"], then: "allow" }], evil)).toBe("ask");
    expect(effect([{ match: "git.*", then: "deny" }], evil)).toBe("deny");
    expect(effect([{ match: "git.evil.*", then: "allow" }], evil)).toBe("allow");
    expect(effect([{ match: "*.push", then: "allow" }], evil)).toBe("allow");
    expect(effect([{ match: "git.evil.push", then: "allow" }], { server: "git", tool: "evil.push" })).toBe("allow");
    for (const match of ["git*", "*", "g*.p*"]) expect(effect([{ match, then: "allow" }])).toBe("allow");
  });

  test.each([["Push"], ["ＰＵＳＨ"], ["pu\u200bsh"], ["рush"], ["PUSH_all"]])(
    "a look-alike of a name that a rule stops is not allowed by another rule: %s",
    (tool) => {
      const rules: Rule[] = [{ match: "*.push*", then: "deny" }, { then: "allow" }];
      expect(decide(rules, { tool })).toMatchObject({ effect: "ask", rule: 0 });
      expect(compilePolicy(rules).allowsAlways(call({ tool }))).toBe(false);
      expect(effect([{ server: "GIT", then: "deny" }, { then: "allow" }], { tool })).toBe("ask");
    },
  );

  test("a rule that allows matches names exactly", () => {
    expect(effect([{ match: "git.push", then: "allow" }], { tool: "Push" })).toBe("ask");
    expect(
      effect(
        [
          { match: "git.pull", then: "deny" },
          { match: "git.Push", then: "allow" },
        ],
        { tool: "Push" },
      ),
    ).toBe("allow");
  });

  test.each([["readOnly"], ["destructive"], ["idempotent"], ["openWorld"]] as const)(
    "%s can be asked for, both ways",
    (hint) => {
      const rules: Rule[] = [{ [hint]: true, then: "deny" }];
      expect(effect(rules, { [hint]: true })).toBe("deny");
      expect(effect(rules, { [hint]: false })).toBe("ask");
      expect(effect([{ [hint]: false, then: "deny" }], { [hint]: false })).toBe("deny");
    },
  );

  test("all members of a rule must match", () => {
    const rules: Rule[] = [{ match: "git.*", readOnly: true, when: ({ args }) => args["a"] === 1, then: "allow" }];
    expect(effect(rules, { readOnly: true, args: { a: 1 } })).toBe("allow");
    expect(effect(rules, { readOnly: false, args: { a: 1 } })).toBe("ask");
    expect(effect(rules, { readOnly: true, args: { a: 2 } })).toBe("ask");
    expect(effect(rules, { server: "x", readOnly: true, args: { a: 1 } })).toBe("ask");
  });

  test("a rule that throws denies", () => {
    const throws = () => {
      throw new Error("no such thing");
    };
    expect(decide([{ when: throws, then: "allow" }])).toEqual({
      effect: "deny",
      rule: 0,
      reason: "Rule 1 of the policy failed: no such thing",
      cautions: [],
    });
  });

  test("a promise is not true", () => {
    const later = (async () => false) as unknown as () => boolean;
    expect(effect([{ when: later, then: "allow" }])).toBe("deny");
    const nothing = (() => undefined) as unknown as () => boolean;
    expect(effect([{ when: nothing, then: "allow" }])).toBe("ask");
  });

  test("changing a rule object later has no effect", () => {
    const rule: { match: string; then: Effect; readOnly: boolean } = { match: "git.*", then: "deny", readOnly: false };
    const policy = compilePolicy([rule]);
    rule.then = "allow";
    rule.match = "x.*";
    rule.readOnly = true;
    expect(policy.decide(call()).effect).toBe("deny");
  });

  test("equal decisions are the same frozen object", () => {
    const policy = compilePolicy([{ then: "allow" }]);
    expect(policy.decide(call())).toBe(policy.decide(call({ tool: "other" })));
    expect(Object.isFrozen(policy.decide(call()))).toBe(true);
  });
});

describe("allowsAlways", () => {
  const yes: Rule = { match: "files.*", then: "allow" };
  test.each<[string, readonly Rule[], boolean]>([
    ["where a rule says no more than which tool it means", [yes], true],
    ["where rules before it are about others", [{ match: "git.*", then: "deny", args: {} }, yes], true],
    ["where rules after it say what they like", [yes, { when: () => false, then: "deny" }], true],
    ["not where no rule is about it", [{ match: "git.*", then: "allow" }], false],
    ["not where a rule before it denies", [{ match: "files.read", then: "deny" }, yes], false],
    ["not where a rule before it looks at arguments", [{ args: { a: { equals: 1 } }, then: "deny" }, yes], false],
    ["not where a rule before it decides by itself", [{ when: () => false, then: "deny" }, yes], false],
    ["not where the rule asks", [{ ...yes, then: "ask" }], false],
    ["not where the rule looks at arguments", [{ ...yes, args: { a: { equals: 1 } } }], false],
    ["not where the rule decides by itself", [{ ...yes, when: () => true }], false],
  ])("%s", (_, rules, expected) => {
    expect(compilePolicy(rules).allowsAlways(call({ server: "files", tool: "read" }))).toBe(expected);
  });
});

describe("arguments", () => {
  const allows = (args: Rule["args"], given: PolicyCall["args"]) =>
    effect([{ args: args!, then: "allow" }], { args: given });
  const denies = (args: Rule["args"], given: PolicyCall["args"]) =>
    effect([{ args: args!, then: "deny" }], { args: given });

  test.each<[Rule["args"], PolicyCall["args"], boolean]>([
    [{ path: { startsWith: "/tmp/" } }, { path: "/tmp/a" }, true],
    [{ path: { startsWith: "/tmp/" } }, { path: "/etc/a" }, false],
    [{ path: { startsWith: "/tmp/" } }, { path: ["/tmp/a"] }, false],
    [{ path: { startsWith: "/tmp/" } }, {}, false],
    [{ path: { matches: "/tmp/*.md" } }, { path: "/tmp/a.md" }, true],
    [{ path: { matches: "/tmp/*.md" } }, { path: "/tmp/a.sh" }, false],
    [{ force: { equals: false } }, { force: false }, true],
    [{ force: { equals: false } }, { force: 0 }, false],
    [{ force: { equals: false } }, {}, false],
    [{ at: { equals: { a: 1, b: [2] } } }, { at: { b: [2], a: 1 } }, true],
    [{ at: { equals: { a: 1, b: [2] } } }, { at: { b: [2], a: 1, c: 3 } }, false],
    [{ to: { oneOf: ["a", 2] } }, { to: 2 }, true],
    [{ to: { oneOf: ["a", 2] } }, { to: "2" }, false],
    [{ n: { min: 1, max: 10 } }, { n: 10 }, true],
    [{ n: { min: 1, max: 10 } }, { n: 11 }, false],
    [{ n: { min: 1, max: 10 } }, { n: "5" }, false],
    [{ n: { max: 10 } }, { n: Number.NaN }, false],
    [{ "options.force": { equals: true } }, { options: { force: true } }, true],
    [{ "options.force": { equals: true } }, { options: "force" }, false],
    [{ "list.1": { equals: "b" } }, { list: ["a", "b"] }, true],
    [{ "constructor.name": { equals: "Object" } }, {}, false],
    [JSON.parse('{"__proto__":{"equals":{}}}'), {}, false],
    [JSON.parse('{"__proto__":{"equals":1}}'), JSON.parse('{"__proto__":1}'), true],
    [{ a: { equals: 1 }, b: { equals: 2 } }, { a: 1, b: 3 }, false],
  ])("%j of %j: %s", (tests, given, expected) => {
    expect(allows(tests, given)).toBe(expected ? "allow" : "ask");
    expect(denies(tests, given)).toBe(expected ? "deny" : "ask");
  });

  test.each([
    ["/tmp/../etc/passwd"],
    ["/tmp/a/.."],
    ["/tmp/..\\x"],
    ["/tmp/%2e%2E/etc"],
    ["/tmp/%2f..%2fetc"],
    ["/tmp/.%2e/etc"],
  ])("a path that leaves the prefix is not allowed: %s", (path) => {
    expect(allows({ path: { startsWith: "/tmp/" } }, { path })).toBe("ask");
    expect(allows({ path: { matches: "/tmp/*" } }, { path })).toBe("ask");
    expect(denies({ path: { startsWith: "/tmp/" } }, { path })).toBe("deny");
  });

  test("dots inside a name are allowed", () => {
    for (const path of ["/tmp/a..b", "/tmp/...", "/tmp/.git/x"]) {
      expect(allows({ path: { startsWith: "/tmp/" } }, { path })).toBe("allow");
    }
  });

  test.each<[NonNullable<Rule["args"]>, PolicyCall["args"]]>([
    [{ n: { min: 1_000 } }, { n: "5000" }],
    [{ n: { min: 1_000 } }, { n: [5_000] }],
    [{ force: { equals: true } }, { force: "TRUE" }],
    [{ to: { oneOf: ["1", "2"] } }, { to: 2 }],
    [{ path: { startsWith: "/etc/" } }, { path: ["/etc/passwd"] }],
    [{ path: { startsWith: "/etc/" } }, { path: "/tmp/../etc/passwd" }],
    [{ path: { startsWith: "/etc/" } }, { path: "//etc/./passwd" }],
    [{ path: { startsWith: "/etc/" } }, { path: "/%65tc/passwd" }],
    [{ path: { matches: "/etc/*" } }, { path: " ／etc/passwd" }],
    [{ "files.*.path": { startsWith: "/etc/" } }, { files: [{ path: "/a/../etc/b" }] }],
  ])("an argument that misses %j only by its form is not allowed by another rule: %j", (args, given) => {
    for (const then of ["deny", "ask"] as const) {
      expect(effect([{ args, then }, { then: "allow" }], { args: given })).toBe("ask");
      expect(effect([{ args, then }, { then: "deny" }], { args: given })).toBe("deny");
    }
  });

  test("with several values, all must pass to allow, and one is enough to deny", () => {
    const tests = { "files.*.path": { startsWith: "/tmp/" } };
    const files = (...paths: string[]) => ({ files: paths.map((path) => ({ path })) });
    expect(allows(tests, files("/tmp/a", "/tmp/b"))).toBe("allow");
    expect(allows(tests, files("/tmp/a", "/etc/b"))).toBe("ask");
    expect(allows(tests, files())).toBe("ask");
    expect(denies(tests, files("/tmp/a", "/etc/b"))).toBe("deny");
    expect(denies(tests, files())).toBe("ask");
  });
});

describe("after untrusted content", () => {
  const after = { contentFrom: ["web"] };

  test("allowed tools that write or reach the network are asked about", () => {
    const expected = { effect: "ask", rule: 0, cautions: [{ kind: "untrusted-content", from: ["web"] }] };
    expect(decide([{ then: "allow" }], after)).toMatchObject(expected);
    expect(decide([{ then: "allow" }], { ...after, readOnly: true, openWorld: true })).toMatchObject(expected);
  });

  test("read-only tools of a closed world are allowed", () => {
    expect(decide([{ then: "allow" }], { ...after, readOnly: true })).toMatchObject({ effect: "allow", cautions: [] });
  });

  test("evenAfterUntrusted allows", () => {
    expect(effect([{ then: "allow", evenAfterUntrusted: true }], after)).toBe("allow");
  });

  test("a denied call stays denied, and a question carries the caution", () => {
    expect(decide([{ then: "deny" }], after)).toMatchObject({ effect: "deny", cautions: [] });
    expect(decide([], after)).toMatchObject({ effect: "ask", cautions: [{ kind: "untrusted-content" }] });
  });
});

describe("resources of one server", () => {
  test("cause a question about calls to another server", () => {
    const both = { readOnly: true, resourcesFrom: ["git", "mail"] };
    expect(decide([{ then: "allow" }], both)).toMatchObject({
      effect: "ask",
      cautions: [{ kind: "data-flow", from: ["mail"] }],
    });
    expect(effect([{ then: "allow", evenAfterUntrusted: true }], both)).toBe("ask");
    expect(effect([{ then: "allow", evenWithResources: true }], both)).toBe("allow");
  });

  test("cause no question about calls to their own server", () => {
    expect(effect([{ then: "allow" }], { resourcesFrom: ["git"] })).toBe("allow");
  });

  test("and untrusted content cause two cautions", () => {
    const { cautions } = decide([{ then: "allow" }], { contentFrom: ["web"], resourcesFrom: ["mail"] });
    expect(cautions.map(({ kind }) => kind)).toEqual(["untrusted-content", "data-flow"]);
  });
});

describe("an invalid rule is refused with its place", () => {
  test.each<[unknown, string]>([
    [{ then: "alow" }, 'policy[1].then: expected allow, ask or deny, got "alow"'],
    [{}, "policy[1].then: expected allow, ask or deny, got nothing"],
    [{ then: "allow", mach: "x" }, "policy[1]: unknown option `mach`; did you mean `match`?"],
    [{ then: "allow", match: "push" }, "policy[1].match: expected a name such as git.push"],
    [{ then: "allow", match: [] }, "policy[1].match: expected at least one name, got none"],
    [{ then: "allow", match: 7 }, "policy[1].match: expected a name such as git.push"],
    [{ then: "allow", server: "" }, "policy[1].server: expected"],
    [{ then: "allow", readOnly: "yes" }, 'policy[1].readOnly: expected a boolean, got "yes"'],
    [{ then: "allow", when: "yes" }, 'policy[1].when: expected a function, got "yes"'],
    [{ then: "allow", reason: 1 }, "policy[1].reason: expected a string"],
    [{ then: "allow", args: [] }, "policy[1].args: expected an object"],
    [{ then: "allow", args: { a: {} } }, 'policy[1].args["a"]: expected at least one of equals'],
    [{ then: "allow", args: { a: 5 } }, 'policy[1].args["a"]: expected at least one of equals'],
    [{ then: "allow", args: { a: { starts: "x" } } }, 'policy[1].args["a"].starts: expected one of equals'],
    [{ then: "allow", args: { a: { max: "1" } } }, 'policy[1].args["a"].max: expected a number, got "1"'],
    [{ then: "allow", args: { a: { oneOf: "x" } } }, 'policy[1].args["a"].oneOf: expected an array'],
    [{ then: "allow", args: { "a..b": { equals: 1 } } }, "policy[1].args: expected paths such as options.force"],
    ["allow", "policy[1]: expected a rule"],
    [null, "policy[1]: expected a rule"],
  ])("%j", (rule, message) => {
    expect(() => compilePolicy([{ then: "ask" }, rule as Rule])).toThrow(message);
  });

  test("rules that are not an array are refused", () => {
    expect(() => compilePolicy({} as unknown as Rule[])).toThrow("policy: expected an array of rules, got an object");
  });
});

describe("hints", () => {
  const worst = { readOnly: false, destructive: true, idempotent: false, openWorld: true };
  const of = (annotations: ToolAnnotations | undefined, trusted = true) =>
    hintsOf({ ...definition, ...(annotations && { annotations }) }, trusted);

  test("of an untrusted server are ignored", () => {
    const best = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    expect(of(best, false)).toEqual(worst);
    expect(of(best)).toEqual({ readOnly: true, destructive: false, idempotent: true, openWorld: false });
  });

  test("that are missing or not boolean count as the worst case", () => {
    expect(of(undefined)).toEqual(worst);
    expect(of({})).toEqual(worst);
    const odd = { readOnlyHint: "yes", destructiveHint: 0, idempotentHint: 1, openWorldHint: null };
    expect(of(odd as unknown as ToolAnnotations)).toEqual(worst);
    expect(of(7 as unknown as ToolAnnotations)).toEqual(worst);
  });
});

test.each<[string, string, boolean]>([
  ["git.push", "git.push", true],
  ["git.push", "git.pushy", false],
  ["git.push", "gitxpush", false],
  ["*", "", true],
  ["*", "anything.at all", true],
  ["git.*", "git.push", true],
  ["git.*", "git.", true],
  ["git.*", "github.push", false],
  ["*.push", "git.push", true],
  ["*.push", "git.push.more", false],
  ["*.get_*", "a.get_b", true],
  ["*.get_*", "a.forget_b", false],
  ["a*a", "a", false],
  ["a*a", "aa", true],
  ["ab*ba", "aba", false],
  ["*a*b*c*", "xxaxxbxxcxx", true],
  ["*a*b*c*", "xxcxxbxxaxx", false],
  ["a*b*b", "ab", false],
  ["a**b", "axb", true],
  ["[a-z].(x|y)", "[a-z].(x|y)", true],
  ["[a-z].(x|y)", "b.x", false],
])("%s and %s: %s", (pattern, text, expected) => {
  expect(compileGlob(pattern)(text)).toBe(expected);
});

test("a pattern takes linear time", () => {
  const glob = compileGlob(`${"a*".repeat(200)}b`);
  expect(glob("a".repeat(200_000))).toBe(false);
});

import { type PasteOptions, paste } from "portolan/auth/client";
import { describe, expect, test } from "vitest";
import { startLogin } from "./login.ts";

const authorization = new URL("https://idp.example/authorize?state=s&code_challenge=c");
const redirectUri = "http://127.0.0.1:50000/callback/x";
const never = new AbortController().signal;

/** Logs in with these answers. Returns how often it asked, too. */
async function pasteAll(answers: string[], options: PasteOptions = {}) {
  const questions: string[] = [];
  const shown: string[] = [];
  const ask = async (question: string) => {
    questions.push(question);
    return answers[questions.length - 1] ?? "";
  };
  const attempt = await paste({ redirectUri, ask, show: (url) => void shown.push(url.href), ...options }).begin();
  const back = await attempt.visit(authorization, never).then(
    (url) => url.href,
    ({ code, message }) => `${code}: ${message}`,
  );
  await attempt.close();
  return { back, questions, shown };
}

describe("a pasted text", () => {
  test.each([
    `${redirectUri}?code=a%2Fb&state=s`,
    `  "${redirectUri}?code=a%2Fb&state=s"\n`,
    `<${redirectUri}?code=a%2Fb&state=s>`,
    `' ${redirectUri}?code=a%2Fb&state=s#_=_ '`,
    "127.0.0.1:50000/callback/x?code=a%2Fb&state=s",
    `https${redirectUri.slice(4)}?code=a%2Fb&state=s`,
    "?code=a%2Fb&state=s",
    "code=a%2Fb&state=s",
    "\tcode=a%2Fb&state=s#\r",
  ])("%j is accepted as callback", async (text) => {
    const { back, questions, shown } = await pasteAll([text]);
    expect(back).toBe(`${redirectUri}?code=a%2Fb&state=s`);
    expect([questions.length, shown]).toEqual([1, [authorization.href]]);
  });

  test("may be an error", async () => {
    const { back } = await pasteAll([`${redirectUri}?error=access_denied&state=s`]);
    expect(back).toBe(`${redirectUri}?error=access_denied&state=s`);
  });

  test.each([
    ...["", " ", "yes", "SECRET", authorization.href, "state=s", "https://evil.example/callback/x?code=SECRET"],
    ...["http://127.0.0.1:50000/other?code=SECRET", "http://[?code=SECRET", "code=SECRET state=s", redirectUri],
  ])("%j is refused and asked for again", async (text) => {
    const { back, questions } = await pasteAll([text, text, `${redirectUri}?code=1`]);
    expect(back).toBe(`${redirectUri}?code=1`);
    expect(questions.length).toBe(3);
    expect(questions[1]).not.toBe(questions[0]);
  });

  test("is asked for three times at most, and is not in the error", async () => {
    const { back, questions } = await pasteAll(["SECRET", "SECRET", "SECRET", `${redirectUri}?code=1`]);
    expect(back).toContain("answer-invalid");
    expect(back).not.toContain("SECRET");
    expect(questions.length).toBe(3);
  });
});

describe("the redirect URI", () => {
  test("is random on this machine, or the registered or given one", async () => {
    const placeOf = async (options: PasteOptions, registered?: string) =>
      (await paste(options).begin(registered)).redirectUri;
    expect(await placeOf({})).toMatch(/^http:\/\/127\.0\.0\.1:\d{5}\/callback\/[\w-]{22}$/);
    expect(await placeOf({})).not.toBe(await placeOf({}));
    expect(await placeOf({}, "http://127.0.0.1:4000/cb")).toBe("http://127.0.0.1:4000/cb");
    expect(await placeOf({}, "https://app.example/cb")).toMatch(/^http:\/\/127/);
    expect(await placeOf({ redirectUri }, "http://127.0.0.1:4000/cb")).toBe(redirectUri);
    await expect(placeOf({ redirectUri: "nonsense" })).rejects.toThrow("redirectUri");
  });
});

describe("on a terminal without a browser", () => {
  test("the URL is shown, and lines are read until one is a callback", async () => {
    const login = await startLogin("paste", authorization.href);
    // All lines at once, as from a script: none may be lost between two questions.
    login.child.stdin!.end(`nonsense\n\n  '${login.redirectUri}?code=1&state=s'  \n`);
    expect(await login.outcome()).toBe(`back ${login.redirectUri}?code=1&state=s`);
    expect(login.errors()).toContain(`Open this URL in a browser: ${authorization.href}\n`);
    expect(login.errors().match(/Paste/g)?.length).toBe(3);
  });

  test("a program ends after its answer, even if its input stays open", async () => {
    const login = await startLogin("paste", authorization.href);
    login.child.stdin!.write("code=1&state=s\n");
    expect(await login.outcome()).toBe(`back ${login.redirectUri}?code=1&state=s`);
  });

  test("the end of the input ends the login", async () => {
    const login = await startLogin("paste", authorization.href);
    login.child.stdin!.end();
    expect(await login.outcome()).toMatch(/^cancelled /);
  });

  test("a URL that is not https is not shown", async () => {
    const login = await startLogin("paste", "javascript:alert(1)");
    expect(await login.outcome()).toMatch(/^address-refused /);
    expect(login.errors()).toBe("");
  });
});

test("an aborted signal ends the login with its reason", async () => {
  const [leaving, reason] = [new AbortController(), new Error("enough")];
  const ask = async () => {
    leaving.abort(reason);
    return `${redirectUri}?code=1`;
  };
  const attempt = await paste({ redirectUri, ask, show: () => {} }).begin();
  await expect(attempt.visit(authorization, leaving.signal)).rejects.toBe(reason);
});

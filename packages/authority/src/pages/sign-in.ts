import { type Html, html } from "./html.ts";
import { toPage } from "./layout.ts";

/** Where a form goes and what shows that it was ours. */
export interface FormTarget {
  readonly action: string;
  readonly token: string;
}

export interface SignInFacts extends FormTarget {
  readonly authorityName: string;
  readonly clientName: string;
  readonly problem?: string;
  readonly userName?: string;
}

/** The hidden parts of every form. */
export function formParts({ token }: FormTarget): Html {
  return html`<input type="hidden" name="token" value="${token}">`;
}

export function signInPage(facts: SignInFacts): string {
  const { authorityName, clientName, action, problem, userName = "" } = facts;
  return toPage(
    "Sign in",
    authorityName,
    html`<h1>Sign in to ${authorityName}</h1>
<p class="soft">Next you will be asked what “${clientName}” may do.</p>
${problem !== undefined && html`<p class="bad" role="alert">${problem}</p>`}
<form method="post" action="${action}">
${formParts(facts)}
<label for="name">User name</label>
<input id="name" name="name" value="${userName}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200"${{ html: userName === "" ? " autofocus" : "" }}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"${{ html: userName === "" ? "" : " autofocus" }}>
<div class="alone"><button class="go" name="do" value="sign-in">Sign in</button></div>
</form>
<form method="post" action="${action}">
${formParts(facts)}
<p class="alone"><button class="link" name="do" value="deny">Cancel and go back to the app</button></p>
</form>`,
  );
}

import type { ClientDescription } from "../clients.ts";
import { type Html, html, toPage } from "./layout.ts";

export interface ConsentPage extends FormTarget {
  readonly authorityName: string;
  readonly client: ClientDescription;
  readonly servers: readonly { readonly name: string; readonly host: string; readonly scopes: readonly string[] }[];
  /** The client gets a refresh token. */
  readonly staysConnected: boolean;
  /** The person who is signed in; absent when the upstream provider signs them in afterwards. */
  readonly person?: string;
  /** The upstream provider that signs the person in afterwards. */
  readonly nextName?: string;
}

export function consentPage(facts: ConsentPage): string {
  const { authorityName, client, servers, staysConnected, person, nextName, action } = facts;
  return toPage(
    "Allow access?",
    authorityName,
    html`<h1>“${client.name}” wants access to ${servers.map(({ name }) => name).join(" and ")}</h1>
${servers.map(
  ({ name, host, scopes }) => html`<h2>In ${name} (${host}) it could</h2>
<ul>${scopes.map((scope) => html`<li>${scope}</li>`)}</ul>`,
)}
${staysConnected && html`<p class="soft">It keeps this access until you revoke it, even when you are away.</p>`}
<dl>
<div><dt>Who asks</dt><dd>${identityOf(client)}</dd></div>
<div><dt>You will be sent back to</dt><dd><strong>${client.returnsTo}</strong></dd></div>
${person !== undefined && html`<div><dt>Signed in as</dt><dd>${person}</dd></div>`}
${nextName !== undefined && html`<div><dt>Next</dt><dd>You sign in with ${nextName}</dd></div>`}
</dl>
${warningOf(client)}
<form method="post" action="${action}">
${formParts(facts)}
<div class="row"><button name="do" value="deny">Deny</button><button class="go" name="do" value="allow">Allow</button></div>
${person !== undefined && html`<p class="alone"><button class="link" name="do" value="switch">Use another account</button></p>`}
</form>`,
  );
}

function identityOf({ vouched, host, name }: ClientDescription) {
  if (vouched === "operator") return html`${name}, known to this server`;
  if (vouched === "host") return html`<strong>${host}</strong> (this host is verified, the name is not)`;
  return html`An app that calls itself “${name}”. Nobody has verified that name.`;
}

function warningOf({ vouched, isLocal, host, returnsTo }: ClientDescription) {
  if (isLocal && vouched !== "operator") {
    return html`<p class="note" role="note"><strong>Continue only if you have just started this yourself.</strong> You will be sent to a program on this computer, and any program here can claim this name.</p>`;
  }
  if (vouched === "nobody") {
    return html`<p class="note" role="note"><strong>Do you know this app?</strong> It has chosen its name itself. Check where you will be sent back to.</p>`;
  }
  if (vouched === "host" && host !== returnsTo) {
    return html`<p class="note" role="note"><strong>These are two different hosts.</strong> The app is at ${host}, but you will be sent to ${returnsTo}.</p>`;
  }
  return undefined;
}

/** The target of a form, and its token against cross-site request forgery. */
export interface FormTarget {
  readonly action: string;
  readonly token: string;
}

export interface SignInPage extends FormTarget {
  readonly authorityName: string;
  /** What comes after the sign-in, as a sentence. */
  readonly next: string;
  /** A client waits for the person, who can go back to it. */
  readonly hasClient?: boolean;
  readonly problem?: string;
  readonly userName?: string;
}

/** Returns the hidden fields of every form. */
export function formParts({ token }: FormTarget): Html {
  return html`<input type="hidden" name="token" value="${token}">`;
}

export function signInPage(facts: SignInPage): string {
  const { authorityName, next, hasClient = false, action, problem, userName = "" } = facts;
  return toPage(
    "Sign in",
    authorityName,
    html`<h1>Sign in to ${authorityName}</h1>
<p class="soft">${next}</p>
${problem !== undefined && html`<p class="bad" role="alert">${problem}</p>`}
<form method="post" action="${action}">
${formParts(facts)}
<label for="name">User name</label>
<input id="name" name="name" value="${userName}" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200"${{ html: userName === "" ? " autofocus" : "" }}>
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1024"${{ html: userName === "" ? "" : " autofocus" }}>
<div class="alone"><button class="go" name="do" value="sign-in">Sign in</button></div>
</form>
${
  hasClient &&
  html`<form method="post" action="${action}">
${formParts(facts)}
<p class="alone"><button class="link" name="do" value="deny">Cancel and go back to the app</button></p>
</form>`
}`,
  );
}

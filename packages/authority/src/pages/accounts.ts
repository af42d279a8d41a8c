import { type FormTarget, formParts } from "./forms.ts";
import { html, toPage } from "./layout.ts";

export interface ConnectPage extends FormTarget {
  readonly authorityName: string;
  readonly serviceName: string;
  /** The person who is signed in here. */
  readonly person: string;
  readonly isConnected: boolean;
  readonly maySwitch: boolean;
}

/** Returns the page where a person connects an account at a service, or ends that. */
export function connectPage(facts: ConnectPage): string {
  const { authorityName, serviceName, person, isConnected, maySwitch, action } = facts;
  const title = isConnected ? `${serviceName} is connected` : `Connect ${serviceName}?`;
  return toPage(
    title,
    authorityName,
    html`<h1>${title}</h1>
<p>${
      isConnected
        ? `${authorityName} can use your account at ${serviceName} when you ask it to.`
        : `You sign in at ${serviceName} next. Then ${authorityName} can use your account there when you ask it to.`
    }</p>
<dl><div><dt>Signed in to ${authorityName} as</dt><dd>${person}</dd></div></dl>
<p class="soft">${
      isConnected ? "You can close this page." : "Continue only if you have just asked for this yourself."
    }</p>
<form method="post" action="${action}">
${formParts(facts)}
<div class="row">${
      isConnected
        ? html`<button name="do" value="disconnect">Disconnect</button><button name="do" value="connect">Use another account</button>`
        : html`<button class="go" name="do" value="connect">Go to ${serviceName}</button>`
    }</div>
${maySwitch && html`<p class="alone"><button class="link" name="do" value="switch">I am not ${person}</button></p>`}
</form>`,
  );
}

/** Returns the page after the return from a service. */
export function connectedPage(authorityName: string, serviceName: string): string {
  return toPage(
    `${serviceName} is connected`,
    authorityName,
    html`<h1>${serviceName} is connected</h1>
<p>Go back to your app. You can close this page.</p>`,
  );
}

import { PortolanError } from "../../errors.ts";
import { isLoopbackHost } from "../../net/check-address.ts";

/** Refuses an address that no person may be sent to: whatever is not https, or http on this machine. */
export function checkVisitable(url: URL): void {
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname))) return;
  const text = `A person is sent to https only, or http on this machine; got a ${url.protocol} address`;
  throw new PortolanError("address-refused", text);
}

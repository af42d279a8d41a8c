import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { ApiRefusal } from "./failure.ts";
import { launchTokenMs, maxSessions, maxUsedTokens } from "./limits.ts";

/** Makes a launch token: whoever has the secret of a console can make addresses that open it. */
export function createLaunchToken(secret: string, now: number): string {
  const claim = `${now.toString(36)}-${randomBytes(4).toString("base64url")}`;
  return `${claim}.${signLaunch(secret, claim)}`;
}

/** 132 bits, so that a line of 80 columns holds the whole address. */
function signLaunch(secret: string, claim: string): string {
  return sign(secret, `launch ${claim}`).slice(0, 22);
}

/** Proves the possession of a secret without showing it. */
export function proveSecret(secret: string, challenge: string): string {
  return sign(secret, `proof ${challenge}`);
}

function sign(secret: string, text: string): string {
  return createHmac("sha256", secret).update(text).digest("base64url");
}

export function isEqualText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * The sessions of this process. They are kept in memory alone: after a crash another program may hold the port, and an old
 * page must not hand it a session that still counts.
 */
export class Sessions {
  readonly #secret: string;
  readonly #now: () => number;
  /** The time of the last use, by session. The one that was used last stands at the end. */
  readonly #sessions = new Map<string, number>();
  /** When each used launch token was made. */
  readonly #used = new Map<string, number>();

  constructor(secret: string, now: () => number = Date.now) {
    this.#secret = secret;
    this.#now = now;
  }

  /** Exchanges a launch token for a session, once. */
  open(token: string): string {
    const [claim = "", signature = ""] = token.split(".");
    const madeAt = Number.parseInt(claim.split("-", 1)[0] ?? "", 36);
    const age = this.#now() - madeAt;
    if (!isEqualText(signature, signLaunch(this.#secret, claim)) || !(age <= launchTokenMs)) {
      throw new ApiRefusal("no-session", "This address does not open the console.", { next: openAgain });
    }
    if (this.#used.has(claim)) {
      throw new ApiRefusal("no-session", "This address was used already: it opens one session.", { next: openAgain });
    }
    this.#forgetUsed();
    if (this.#used.size >= maxUsedTokens) throw new ApiRefusal("too-many", "Too many sessions were opened.");
    this.#used.set(claim, madeAt);
    const session = randomBytes(32).toString("base64url");
    this.#sessions.set(session, this.#now());
    for (const oldest of this.#sessions.keys()) {
      if (this.#sessions.size <= maxSessions) break;
      this.#sessions.delete(oldest);
    }
    return session;
  }

  /** Throws unless a request names a session of this process. */
  check(session: string | undefined): void {
    // A map compares no secret in constant time, but a digest of 256 random bits cannot be guessed by parts over a network.
    if (session !== undefined && this.#sessions.delete(session)) {
      this.#sessions.set(session, this.#now());
      return;
    }
    throw new ApiRefusal("no-session", "This page has no session with the console.", { next: openAgain });
  }

  #forgetUsed(): void {
    for (const [claim, madeAt] of this.#used) if (this.#now() - madeAt > launchTokenMs) this.#used.delete(claim);
  }
}

const openAgain = "Run portolan console again, and open the address that it prints.";

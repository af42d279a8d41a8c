import { createHash } from "node:crypto";
import { ApiRefusal } from "./failure.ts";
import { maxReplies, maxReplyChars, replyMs } from "./limits.ts";

interface KeptReply {
  readonly at: number;
  readonly digest: string;
  readonly reply: Promise<string>;
  chars: number;
}

/** The replies to requests that change something: a request that comes again gets the same reply and does nothing. */
export class Replies {
  readonly #now: () => number;
  readonly #kept = new Map<string, KeptReply>();
  #chars = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** Runs `work` unless this request was seen before. `request` is its UUID, `text` all of it. */
  once(request: string, text: string, work: () => Promise<string>): Promise<string> {
    this.#forget();
    const key = request.toLowerCase();
    const digest = createHash("sha256").update(text).digest("base64");
    const known = this.#kept.get(key);
    if (known) {
      if (known.digest === digest) return known.reply;
      const message = "request: this UUID was used for another request";
      throw new ApiRefusal("bad-request", message, { paths: [{ path: "request", message }] });
    }
    const kept: KeptReply = { at: this.#now(), digest, reply: work(), chars: 0 };
    this.#kept.set(key, kept);
    kept.reply.then(
      (reply) => {
        if (this.#kept.get(key) !== kept) return;
        kept.chars = reply.length;
        this.#chars += reply.length;
      },
      () => {},
    );
    return kept.reply;
  }

  #forget(): void {
    for (const [key, { at, chars }] of this.#kept) {
      const isOld = this.#now() - at > replyMs;
      if (!isOld && this.#kept.size < maxReplies && this.#chars <= maxReplyChars) return;
      this.#kept.delete(key);
      this.#chars -= chars;
    }
  }
}

import * as dns from "node:dns/promises";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import type { Answer, Carrier, CarrierRequest } from "../fetch-adapter.ts";

const decoders = { gzip: createGunzip, br: createBrotliDecompress };

/** Sends by `node:http`, one connection for each request, to addresses that were checked. */
export function createCarrier(): Carrier {
  return {
    async addressesOf(host) {
      return (await dns.lookup(host, { all: true })).map(({ address }) => address);
    },
    send,
    encodings: Object.keys(decoders),
    decode,
  };
}

function send({ url, method, headers, body, signal }: CarrierRequest, addresses: readonly string[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === "http:" ? http : https;
    const sent = request({
      method,
      // The name stays what it is, for the Host header and for the certificate; `lookup` decides where it leads.
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      path: url.pathname + url.search,
      headers: Object.fromEntries(headers),
      agent: false,
      lookup: leadTo(addresses),
      signal,
    });
    sent.on("response", (response) => resolve(toAnswer(response)));
    sent.on("error", reject);
    sent.on("close", () => reject(new Error("the connection was closed before the answer")));
    sent.end(body);
  });
}

/** By a pipeline: the decoder asks for no more than is read, and both end when either does. */
function decode(encoding: string, body: Answer["body"]): Answer["body"] {
  const decoder = decoders[encoding as keyof typeof decoders]();
  // Whoever reads the decoder hears of errors there.
  return pipeline(Readable.from(body, { objectMode: false }), decoder, () => {});
}

/** Resolves every host to the addresses that were checked, so that a second answer of the resolver changes nothing. */
function leadTo(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const [first] = all;
    if (!first) callback(new Error("no address was checked"), []);
    else if (options.all) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

function toAnswer(response: http.IncomingMessage): Answer {
  const headers = new Headers();
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    headers.append(response.rawHeaders[at] ?? "", response.rawHeaders[at + 1] ?? "");
  }
  // Whoever reads the body hears of it there; whoever dropped it need not.
  response.on("error", () => {});
  return { status: response.statusCode ?? 0, headers, body: response, drop: () => response.destroy() };
}

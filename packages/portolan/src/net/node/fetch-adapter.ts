import * as dns from "node:dns/promises";
import * as http from "node:http";
import * as https from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { pipeline, Readable } from "node:stream";
import { createBrotliDecompress, createGunzip } from "node:zlib";
import type { AdapterRequest, AdapterResponse, FetchAdapter } from "../fetch-adapter.ts";

const decoders = { gzip: createGunzip, br: createBrotliDecompress };

/** Creates an adapter on `node:http`, with one connection per request, to checked addresses only. */
export function createAdapter(): FetchAdapter {
  return {
    async resolve(host) {
      return (await dns.lookup(host, { all: true })).map(({ address }) => address);
    },
    send,
    encodings: Object.keys(decoders),
    decode,
  };
}

function send(
  { url, method, headers, body, signal }: AdapterRequest,
  addresses: readonly string[],
): Promise<AdapterResponse> {
  return new Promise((resolve, reject) => {
    const { request } = url.protocol === "http:" ? http : https;
    const sent = request({
      method,
      // The name stays for the Host header and the certificate; `lookup` decides where to connect.
      hostname: url.hostname.replace(/^\[|\]$/g, ""),
      port: url.port,
      path: url.pathname + url.search,
      headers: Object.fromEntries(headers),
      agent: false,
      lookup: lookupFixed(addresses),
      signal,
    });
    sent.on("response", (response) => resolve(toResponse(response)));
    sent.on("error", reject);
    sent.on("close", () => reject(new Error("the connection closed before the response")));
    sent.end(body);
  });
}

/** Decodes by a pipeline: the decoder reads no more than is consumed, and either end closes both. */
function decode(encoding: string, body: AdapterResponse["body"]): AdapterResponse["body"] {
  const decoder = decoders[encoding as keyof typeof decoders]();
  // The reader of the decoder gets its errors.
  return pipeline(Readable.from(body, { objectMode: false }), decoder, () => {});
}

/** Resolves every host to the checked addresses, so that a second DNS answer cannot change them. */
function lookupFixed(addresses: readonly string[]): LookupFunction {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, callback) => {
    const [first] = all;
    if (!first) callback(new Error("no address was checked"), []);
    else if (options.all) callback(null, all);
    else callback(null, first.address, first.family);
  };
}

function toResponse(response: http.IncomingMessage): AdapterResponse {
  const headers = new Headers();
  for (let at = 0; at < response.rawHeaders.length; at += 2) {
    headers.append(response.rawHeaders[at] ?? "", response.rawHeaders[at + 1] ?? "");
  }
  // The reader of the body gets its errors; a dropped body needs none.
  response.on("error", () => {});
  return { status: response.statusCode ?? 0, headers, body: response, drop: () => response.destroy() };
}

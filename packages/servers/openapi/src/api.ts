import type { Context } from "portolan/server";
import {
  failureOfStatus,
  type Service,
  ServiceClient,
  type ServiceFailure,
  type ServiceResponse,
  type TokenSource,
} from "portolan-server-kit/service";
import type { Credentials } from "./credentials.ts";
import { isJson } from "./description.ts";
import type { Operation } from "./operations.ts";
import type { OpenApiLimits, OpenApiOptions } from "./options.ts";
import type { ApiRequest } from "./request.ts";

/** The API that a description describes: its address, and how its requests are proven. */
export class Api {
  readonly service: Service;
  readonly #client: ServiceClient;
  readonly #credentials: Credentials;

  constructor(
    { title, address, isNamed }: { readonly title: string; readonly address: string; readonly isNamed: boolean },
    credentials: Credentials,
    limits: OpenApiLimits,
    { readOnly: isReadOnly = false, headers = {} }: OpenApiOptions,
  ) {
    this.#credentials = credentials;
    this.service = {
      ...{ name: title, api: address, headers, failureOf },
      // This server reads no variables by itself.
      ...{ apiVariable: "", tokenVariable: "", tokenOwner: "", tokenPage: "" },
    };
    this.#client = new ServiceClient(this.service, {
      ...{ tokens: separateCredentials(credentials), isReadOnly, limits },
      // An address that only the description names must not lead into the network of the person.
      isPublicOnly: !isNamed,
    });
  }

  /** Sends the request of a call. Rejects with a `ToolError`, which has no credential in it. */
  async send(operation: Operation, request: ApiRequest, context: Context): Promise<ServiceResponse> {
    const { path, query, headers, cookies, parts, ...content } = request;
    const proof = await this.#credentials.proofFor(operation, context.principal);
    const search = [...query, ...proof.query].join("&");
    const cookie = [...cookies, ...proof.cookies].join("; ");
    return this.#client.request(
      {
        ...(parts ? { content: await encodeParts(parts) } : content),
        method: operation.method,
        path: search === "" ? path : `${path}?${search}`,
        headers: {
          accept: "application/json, */*;q=0.5",
          ...headers,
          ...(cookie !== "" && { cookie }),
          ...proof.headers,
        },
        secrets: proof.secrets,
        isReading: operation.isReading,
        isRepeatable: operation.isReading || operation.method === "PUT" || operation.method === "DELETE",
      },
      context,
    );
  }
}

async function encodeParts(parts: FormData) {
  const encoded = new Response(parts);
  const mediaType = encoded.headers.get("content-type") ?? "";
  return { mediaType, body: new Uint8Array(await encoded.arrayBuffer()) };
}

/** Each request has its own proof, because each operation may need another one. */
function separateCredentials({ help }: Credentials): TokenSource {
  return {
    isShared: true,
    tokenFor: async () => "",
    refused: async () => false,
    signIn: async () => {},
    wayBack: help,
  };
}

/** Reads a failure from the status, with the API's own sentence. */
function failureOf(response: ServiceResponse): ServiceFailure | undefined {
  const failure = failureOfStatus(response);
  if (!failure) return undefined;
  const says = sentenceOf(response.json) ?? (isText(response) ? response.text.trim().slice(0, 500) : "");
  return { ...failure, says: [`status ${response.status}`, says].filter((part) => part !== "").join(", ") };
}

function isText({ headers }: ServiceResponse): boolean {
  return headers.get("content-type")?.startsWith("text/plain") ?? false;
}

/** Members in which APIs say what is wrong, RFC 9457 first. */
const sentences = ["detail", "title", "message", "error_description", "error", "description", "reason"];

function sentenceOf(json: unknown, depth = 0): string | undefined {
  if (typeof json === "string") return json.slice(0, 500);
  if (depth > 3) return undefined;
  if (Array.isArray(json)) return sentenceOf(json[0], depth + 1);
  if (!isJson(json)) return undefined;
  const found = sentences.map((name) => sentenceOf(json[name], depth + 1)).filter((text) => text !== undefined);
  const errors = sentenceOf(json["errors"], depth + 1);
  return [found[0], errors].filter((text) => text !== undefined && text !== "").join("; ") || undefined;
}

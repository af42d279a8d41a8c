// A fake of Asana on loopback: the paths of its REST API that a server needs, with fields, offsets, errors and state.
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";

/** A record as Asana has it. Members that are records themselves are the whole record. */
export interface AsanaRecord {
  readonly gid: string;
  readonly resource_type: string;
  [member: string]: unknown;
}

interface Grant {
  readonly user: AsanaRecord;
  readonly scopes: readonly string[];
}

/** A request that the fake got. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly user: string | undefined;
}

/** A failure that the fake plays instead of an answer. */
export type AsanaFault =
  | { readonly status: number; readonly headers?: { readonly [name: string]: string }; readonly body?: object | string }
  | "cut"
  | "huge"
  | "stall"
  | "silence";

/** A refusal with Asana's sentence. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

interface Call {
  readonly grant: Grant;
  readonly query: URLSearchParams;
  readonly data: { readonly [member: string]: unknown };
  readonly parts: readonly string[];
  readonly file: { readonly name: string; readonly bytes: Buffer } | undefined;
}

/** An operation with the scope that it needs. Sections belong to no smaller scope than all. */
interface Operation {
  readonly method: string;
  readonly path: string;
  readonly scope: string;
  readonly run: (call: Call) => AsanaRecord | readonly AsanaRecord[] | object;
}

export class FakeAsana {
  readonly origin: string;
  readonly requests: SeenRequest[] = [];
  readonly clientId = "1200000000000777";
  readonly clientSecret: string = randomBytes(16).toString("hex");
  /** The person who sits in front of the browser; undefined shows a page that asks. */
  browserUser: string | undefined;
  /** The workspace has a paid plan, to which the search belongs. */
  hasSearch = true;
  readonly workspace: AsanaRecord;
  readonly attached: { readonly name: string; readonly bytes: Buffer; readonly parent: string }[] = [];
  readonly #records: Map<string, AsanaRecord> = new Map();
  readonly #grants: Map<string, Grant> = new Map();
  readonly #codes: Map<string, URLSearchParams & { name?: string }> = new Map();
  readonly #refreshTokens: Map<string, Grant> = new Map();
  readonly #faults: { readonly fault: AsanaFault; left: number; readonly isFor: (request: SeenRequest) => boolean }[] =
    [];
  #id = 1_200_000_000_000_000;
  #minutes = 0;

  constructor(origin: string) {
    this.origin = origin;
    this.workspace = this.#add("workspace", { name: "Acme", is_organization: false });
  }

  get api(): string {
    return `${this.origin}/api/1.0`;
  }

  #add(resource_type: string, members: object): AsanaRecord {
    this.#id += 1;
    const record = { gid: String(this.#id), resource_type, ...members };
    this.#records.set(record.gid, record);
    return record;
  }

  #all(type: string): AsanaRecord[] {
    return [...this.#records.values()].filter(({ resource_type }) => resource_type === type);
  }

  #now(): string {
    this.#minutes += 1;
    return new Date(Date.UTC(2026, 10, 19, 10, this.#minutes)).toISOString();
  }

  user(name: string): AsanaRecord {
    return this.#all("user").find((one) => one["name"] === name) ?? this.#add("user", { name });
  }

  token(name: string, scopes: readonly string[] = ["default"]): string {
    const token = `2/${randomBytes(16).toString("hex")}`;
    this.#grants.set(token, { user: this.user(name), scopes });
    return token;
  }

  /** Makes all tokens of a person invalid, as the person can. */
  revokeAll(name: string): void {
    for (const [token, { user }] of this.#grants) if (user["name"] === name) this.#grants.delete(token);
    for (const [token, { user }] of this.#refreshTokens) if (user["name"] === name) this.#refreshTokens.delete(token);
  }

  /** Makes a project with two sections that only these people see. */
  project(name: string, members: readonly string[], notes = ""): AsanaRecord & { readonly sections: AsanaRecord[] } {
    const people = members.map((one) => this.user(one));
    const made = this.#add("project", {
      ...{ name, notes, archived: false, due_on: null, owner: people[0], workspace: this.workspace, members: people },
      permalink_url: `${this.origin}/0/${name}`,
    });
    const sections = ["To do", "Done"].map((title) => this.#add("section", { name: title, project: made }));
    return Object.assign(made, { sections });
  }

  task(project: AsanaRecord, author: string, members: object): AsanaRecord {
    const sections = project["sections"] as AsanaRecord[] | undefined;
    const made = this.#add("task", {
      ...{ name: "", notes: "", completed: false, assignee: null, due_on: null, resource_subtype: "default_task" },
      ...{ modified_at: this.#now(), created_by: this.user(author), followers: [] },
      memberships: [{ project, section: sections?.[0] }],
      ...members,
    });
    made["permalink_url"] = `${this.origin}/0/${project.gid}/${made.gid}`;
    this.story(made, author, "added this task", "system");
    return made;
  }

  story(task: AsanaRecord, author: string, text: string, type = "comment"): AsanaRecord {
    task["modified_at"] = this.#now();
    const more = { resource_subtype: type === "comment" ? "comment_added" : "added_to_project" };
    return this.#add("story", {
      ...{ type, text, ...more, target: task, created_by: this.user(author), created_at: this.#now() },
    });
  }

  fail(fault: AsanaFault, times = 1, isFor: (request: SeenRequest) => boolean = () => true): void {
    this.#faults.push({ fault, left: times, isFor });
  }

  /** How many requests of the API came, by method. */
  get counts(): { [method: string]: number } {
    const counts: { [method: string]: number } = {};
    for (const { method } of this.requests) counts[method] = (counts[method] ?? 0) + 1;
    return counts;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
    const url = new URL(request.url ?? "", this.origin);
    const bytes = Buffer.from(Buffer.concat(await request.toArray()));
    if (url.pathname.startsWith("/-/")) return this.#signIn(url, new URLSearchParams(bytes.toString()), response);
    const { method = "GET", headers } = request;
    const path = url.pathname.replace(/^\/api\/1\.0/, "");
    const grant = this.#grants.get(/^bearer (.+)$/i.exec(headers.authorization ?? "")?.[1] ?? "");
    const seen = { method, path, query: url.searchParams, user: grant?.user["name"] as string | undefined };
    this.requests.push(seen);
    const planned = this.#faults.find(({ left, isFor }) => left > 0 && isFor(seen));
    if (planned) {
      planned.left -= 1;
      return play(planned.fault, response);
    }
    try {
      if (!grant) throw new Refusal(401, "Not Authorized");
      const found = this.operations.find((one) => one.method === method && patternOf(one.path).test(path));
      if (!found) throw new Refusal(404, "No matching route for request");
      if (!grant.scopes.includes("default") && !grant.scopes.includes(found.scope)) {
        throw new Refusal(403, `Your token does not have the required scope: ${found.scope || "default"}`);
      }
      const { data, file } = await contentOf(bytes, headers["content-type"] ?? "");
      const parts = (patternOf(found.path).exec(path) ?? []).slice(1).map(decodeURIComponent);
      const answer = found.run({ grant, query: url.searchParams, data, parts, file });
      return send(response, method === "POST" ? 201 : 200, this.#render(answer, url.searchParams));
    } catch (reason) {
      if (!(reason instanceof Refusal)) throw reason;
      return send(response, reason.status, { errors: [{ message: reason.message, help: "See the documentation" }] });
    }
  }

  /** Writes records with the fields that were asked for, and lists in pages. */
  #render(answer: AsanaRecord | readonly AsanaRecord[] | object, query: URLSearchParams): object {
    const fields = (query.get("opt_fields") ?? "").split(",").filter((field) => field !== "");
    if (!Array.isArray(answer)) return { data: pick(answer as AsanaRecord, fields) };
    const limit = query.get("limit");
    if (limit === null) return { data: answer.map((one) => pick(one, fields)) };
    if (!(Number(limit) >= 1 && Number(limit) <= 100)) throw new Refusal(400, "limit: Must be between 1 and 100");
    const from = Number(Buffer.from(query.get("offset") ?? "", "base64url").toString() || 0);
    const until = from + Number(limit);
    const offset = Buffer.from(String(until)).toString("base64url");
    const next_page = until < answer.length ? { offset, path: `/?offset=${offset}`, uri: `${this.api}/?x` } : null;
    return { data: answer.slice(from, until).map((one) => pick(one, fields)), next_page };
  }

  #need(gid: unknown, type: string, { user }: Grant): AsanaRecord {
    const found = this.#records.get(String(gid));
    if (found?.resource_type === type && this.#sees(user, found)) return found;
    throw new Refusal(404, `${type}: Unknown object: ${gid}`);
  }

  #sees(user: AsanaRecord, record: AsanaRecord): boolean {
    const project = projectOf(record);
    return project === undefined || (project["members"] as AsanaRecord[]).some(({ gid }) => gid === user.gid);
  }

  #visible(type: string, { user }: Grant): AsanaRecord[] {
    return this.#all(type).filter((one) => this.#sees(user, one));
  }

  #person(given: unknown, { user }: Grant): AsanaRecord | null {
    if (given === undefined || given === null) return null;
    const found = given === "me" ? user : this.#records.get(String(given));
    if (found?.resource_type !== "user") throw new Refusal(400, `assignee: Not a recognized ID: ${given}`);
    return found;
  }

  readonly operations: readonly Operation[] = [
    { method: "GET", path: "/users/{user_gid}", scope: "users:read", run: ({ grant }) => grant.user },
    { method: "GET", path: "/workspaces", scope: "workspaces:read", run: () => [this.workspace] },
    {
      ...{ method: "GET", path: "/workspaces/{workspace_gid}/users", scope: "users:read" },
      run: () => this.#all("user"),
    },
    {
      ...{ method: "GET", path: "/workspaces/{workspace_gid}/projects", scope: "projects:read" },
      run: ({ grant, query, parts: [gid] }) => {
        this.#need(gid, "workspace", grant);
        const archived = query.get("archived") === "true";
        return this.#visible("project", grant).filter((one) => one["archived"] === archived);
      },
    },
    {
      ...{ method: "GET", path: "/projects/{project_gid}", scope: "projects:read" },
      run: ({ grant, parts: [gid] }) => this.#need(gid, "project", grant),
    },
    {
      ...{ method: "GET", path: "/projects/{project_gid}/sections", scope: "" },
      run: ({ grant, parts: [gid] }) => this.#need(gid, "project", grant)["sections"] as AsanaRecord[],
    },
    {
      ...{ method: "GET", path: "/projects/{project_gid}/tasks", scope: "tasks:read" },
      run: ({ grant, query, parts: [gid] }) => {
        const project = this.#need(gid, "project", grant);
        return this.#visible("task", grant).filter((one) => projectOf(one) === project && isWanted(one, query));
      },
    },
    {
      ...{ method: "GET", path: "/sections/{section_gid}/tasks", scope: "tasks:read" },
      run: ({ grant, query, parts: [gid] }) => {
        const section = this.#need(gid, "section", grant);
        return this.#visible("task", grant).filter((one) => sectionOf(one) === section && isWanted(one, query));
      },
    },
    {
      ...{ method: "GET", path: "/workspaces/{workspace_gid}/tasks/search", scope: "tasks:read" },
      run: ({ grant, query }) => {
        if (!this.hasSearch) throw new Refusal(402, "Search is only available to premium users.");
        const [text, completed, limit] = [query.get("text") ?? "", query.get("completed"), query.get("limit")];
        const person = this.#person(query.get("assignee.any") ?? undefined, grant);
        const project = query.get("projects.any");
        const found = this.#visible("task", grant).filter(
          (one) =>
            `${one["name"]} ${one["notes"]}`.toLowerCase().includes(text.toLowerCase()) &&
            (completed === null || String(one["completed"]) === completed) &&
            (person === null || one["assignee"] === person) &&
            (project === null || projectOf(one)?.gid === project),
        );
        const byChange = (a: AsanaRecord, b: AsanaRecord) =>
          String(b["modified_at"]).localeCompare(String(a["modified_at"]));
        return found.sort(byChange).slice(0, Number(limit ?? 20));
      },
    },
    {
      ...{ method: "GET", path: "/workspaces/{workspace_gid}/typeahead", scope: "workspaces.typeahead:read" },
      run: ({ grant, query }) => {
        const wanted = (query.get("query") ?? "").toLowerCase();
        const found = this.#visible(query.get("resource_type") ?? "", grant);
        const fitting = found.filter(({ name }) => String(name).toLowerCase().includes(wanted));
        return fitting.slice(0, Number(query.get("count") ?? 20));
      },
    },
    {
      ...{ method: "GET", path: "/tasks/{task_gid}", scope: "tasks:read" },
      run: ({ grant, parts: [gid] }) => this.#need(gid, "task", grant),
    },
    {
      ...{ method: "GET", path: "/tasks/{task_gid}/stories", scope: "stories:read" },
      run: ({ grant, parts: [gid] }) => {
        const task = this.#need(gid, "task", grant);
        return this.#all("story").filter((one) => one["target"] === task);
      },
    },
    {
      ...{ method: "POST", path: "/projects", scope: "projects:write" },
      run: ({ grant, data }) => {
        if (!data["workspace"]) throw new Refusal(400, "workspace: Missing input");
        const made = this.project(String(data["name"]), [String(grant.user["name"])], String(data["notes"] ?? ""));
        made["due_on"] = data["due_on"] ?? null;
        return made;
      },
    },
    {
      ...{ method: "POST", path: "/tasks", scope: "tasks:write" },
      run: ({ grant, data }) => {
        const [first] = (data["projects"] ?? []) as string[];
        const project = this.#need(first, "project", grant);
        const [membership] = (data["memberships"] ?? []) as { section?: string }[];
        const section = membership?.section && this.#need(membership.section, "section", grant);
        const { name, notes = "", due_on = null } = data;
        const assignee = this.#person(data["assignee"], grant);
        const made = this.task(project, String(grant.user["name"]), { name, notes, due_on, assignee });
        if (section) made["memberships"] = [{ project, section }];
        return made;
      },
    },
    {
      ...{ method: "PUT", path: "/tasks/{task_gid}", scope: "tasks:write" },
      run: ({ grant, data, parts: [gid] }) => {
        const task = this.#need(gid, "task", grant);
        const { assignee, ...members } = data;
        Object.assign(task, members, assignee !== undefined && { assignee: this.#person(assignee, grant) });
        task["modified_at"] = this.#now();
        return task;
      },
    },
    {
      ...{ method: "POST", path: "/tasks/{task_gid}/stories", scope: "stories:write" },
      run: ({ grant, data, parts: [gid] }) => {
        if (!data["text"]) throw new Refusal(400, "text: Missing input");
        return this.story(this.#need(gid, "task", grant), String(grant.user["name"]), String(data["text"]));
      },
    },
    {
      ...{ method: "POST", path: "/sections/{section_gid}/addTask", scope: "tasks:write" },
      run: ({ grant, data, parts: [gid] }) => {
        const section = this.#need(gid, "section", grant);
        const task = this.#need(data["task"], "task", grant);
        task["memberships"] = [{ project: section["project"], section }];
        task["modified_at"] = this.#now();
        return {};
      },
    },
    {
      ...{ method: "POST", path: "/attachments", scope: "attachments:write" },
      run: ({ grant, data, file }) => {
        const task = this.#need(data["parent"], "task", grant);
        if (!file) throw new Refusal(400, "file: Missing input");
        this.attached.push({ ...file, parent: task.gid });
        return this.#add("attachment", { name: file.name, parent: task });
      },
    },
  ];

  /** The pages and endpoints of Asana's OAuth applications. */
  #signIn(url: URL, form: URLSearchParams, response: ServerResponse): unknown {
    if (url.pathname === "/-/oauth_authorize") return this.#authorize(url.searchParams, form, response);
    const refuse = (error: string) => send(response, 400, { error, error_description: `It is ${error}` });
    if (form.get("client_id") !== this.clientId || form.get("client_secret") !== this.clientSecret) {
      return refuse("invalid_client");
    }
    if (url.pathname === "/-/oauth_revoke") {
      this.#refreshTokens.delete(form.get("token") ?? "");
      this.#grants.delete(form.get("token") ?? "");
      return send(response, 200, {});
    }
    if (form.get("grant_type") === "refresh_token") {
      const known = this.#refreshTokens.get(form.get("refresh_token") ?? "");
      return known ? send(response, 200, this.#tokenFor(known)) : refuse("invalid_grant");
    }
    const known = this.#codes.get(form.get("code") ?? "");
    this.#codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    if (!known || known.get("code_challenge") !== challenge) return refuse("invalid_grant");
    const grant = { user: this.user(known.name ?? ""), scopes: (known.get("scope") ?? "").split(" ") };
    const refresh_token = `1/${randomBytes(16).toString("hex")}`;
    this.#refreshTokens.set(refresh_token, grant);
    return send(response, 200, { ...this.#tokenFor(grant), refresh_token });
  }

  #tokenFor({ user, scopes }: Grant): object {
    const access_token = this.token(String(user["name"]), scopes);
    const data = { id: Number(user.gid), gid: user.gid, name: user["name"] };
    return { access_token, token_type: "bearer", expires_in: 3_600, data };
  }

  #authorize(asked: URLSearchParams, form: URLSearchParams, response: ServerResponse): unknown {
    const name = this.browserUser ?? form.get("name");
    if (asked.get("client_id") !== this.clientId) return response.writeHead(404).end();
    if (!name) return showSignInPage(asked, response);
    const code = randomBytes(10).toString("hex");
    this.#codes.set(code, Object.assign(new URLSearchParams(asked), { name }));
    const back = new URL(asked.get("redirect_uri") ?? "");
    back.searchParams.set("code", code);
    back.searchParams.set("state", asked.get("state") ?? "");
    return response.writeHead(302, { location: back.href }).end();
  }
}

/** Starts a fake of Asana until the test ends. */
export async function startFakeAsana(): Promise<FakeAsana> {
  let fake: FakeAsana | undefined;
  const server = createServer((request, response) => {
    fake?.handle(request, response).catch((reason: unknown) => {
      send(response, 500, { errors: [{ message: `The fake failed: ${reason}` }] });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  fake = new FakeAsana(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return fake;
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[a-z_]+\}/g, "([^/]+)")}$`);
}

function projectOf(record: AsanaRecord): AsanaRecord | undefined {
  if (record.resource_type === "project") return record;
  if (record.resource_type === "section") return record["project"] as AsanaRecord;
  return (record["memberships"] as { project: AsanaRecord }[] | undefined)?.[0]?.project;
}

function sectionOf(task: AsanaRecord): AsanaRecord | undefined {
  return (task["memberships"] as { section?: AsanaRecord }[] | undefined)?.[0]?.section;
}

function isWanted(task: AsanaRecord, query: URLSearchParams): boolean {
  return query.get("completed_since") !== "now" || task["completed"] !== true;
}

/** Returns the compact form of a record, and the fields that were asked for, such as `assignee.name`. */
function pick(record: AsanaRecord, fields: readonly string[]): object {
  const { gid, resource_type, name, resource_subtype } = record;
  if (gid === undefined) return {};
  const base = { gid, resource_type, ...(resource_subtype !== undefined && { resource_subtype }) };
  const picked: { [member: string]: unknown } = fields.length === 0 ? { ...base, name } : { gid, resource_type };
  for (const member of new Set(fields.map((field) => field.split(".", 1)[0] ?? ""))) {
    if (!(member in record)) continue;
    const below = fields.flatMap((field) => (field.startsWith(`${member}.`) ? field.slice(member.length + 1) : []));
    picked[member] = pickValue(record[member], below);
  }
  return picked;
}

function pickValue(value: unknown, fields: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((one) => pickValue(one, fields));
  if (typeof value !== "object" || value === null) return value;
  if ("gid" in value) return pick(value as AsanaRecord, fields);
  const members = Object.entries(value).map(([member, inner]) => {
    const below = fields.flatMap((field) => (field.startsWith(`${member}.`) ? field.slice(member.length + 1) : []));
    return [member, pickValue(inner, below)];
  });
  return Object.fromEntries(members);
}

/** Returns what a request has in its body: the member `data` of JSON, or the fields and the file of a form. */
async function contentOf(bytes: Buffer<ArrayBuffer>, type: string): Promise<Pick<Call, "data" | "file">> {
  if (bytes.length === 0) return { data: {}, file: undefined };
  if (!type.startsWith("multipart/form-data")) {
    const { data } = JSON.parse(bytes.toString()) as { data?: Call["data"] };
    if (!data) throw new Refusal(400, "Could not parse request data, invalid JSON");
    return { data, file: undefined };
  }
  const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
  const file = form.get("file");
  if (file === null || typeof file === "string") return { data: Object.fromEntries(form), file: undefined };
  const name = decodeURIComponent(file.name);
  return { data: { parent: form.get("parent") }, file: { name, bytes: Buffer.from(await file.arrayBuffer()) } };
}

/** Asks who the person is; real Asana asks for a password and a yes to the scopes as well. */
function showSignInPage(asked: URLSearchParams, response: ServerResponse): unknown {
  const scopes = (asked.get("scope") ?? "").replaceAll(/[^\w:.,' ]/g, "");
  return response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(
    `<!doctype html><title>Sign in to Asana</title><h1>Allow</h1><p>It wants: ${scopes}</p>
<form method="post"><label>Username <input name="name"></label><button>Authorize</button></form>`,
  );
}

function send(response: ServerResponse, status: number, body: object | string, headers: object = {}): unknown {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return response.writeHead(status, { "content-type": "application/json; charset=UTF-8", ...headers }).end(text);
}

function play(fault: AsanaFault, response: ServerResponse): unknown {
  if (fault === "silence") return undefined;
  if (fault === "stall") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    return response.write('{"half": ');
  }
  if (fault === "cut") {
    response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
    // The part that is sent must arrive before the connection ends.
    return response.write('{"data": {"gi', () => response.destroy());
  }
  if (fault === "huge") return send(response, 200, { data: { name: "x".repeat(20 * 1024 * 1024) } });
  const { status, headers, body = { errors: [{ message: `Fault ${status}` }] } } = fault;
  return send(response, status, body, headers);
}

// Calls every operation of a running server with each generated client, and lets each read an event of an unknown type.
// Arguments: base URL, API key, id of a video. Prints one JSON object: {client: {operation: status}}.
import axios from "axios";
import createClient from "openapi-fetch";
import document from "./openapi.json";
import { Api } from "./sta";
import type { paths } from "./ot";
import { createClient as createHeyClient } from "./hey/client";
import * as hey from "./hey/sdk.gen";
import * as heyZod from "./hey/zod.gen";
import * as oazapfts from "./oaz";
import * as orval from "./orval";
import * as orvalZod from "./orval-zod";
import { createApiClient } from "./ozc";

const [base, key, id] = process.argv.slice(2) as [string, string, string];
const headers = { Authorization: `Bearer ${key}` };
const UNKNOWN = "video.unknown_type";

// An event of a type that the document does not describe, with a member that no schema has.
const send = globalThis.fetch;
globalThis.fetch = async (input, init) => {
    const response = await send(input, init);
    const request = input instanceof Request ? input : new Request(input, init);
    if (request.method !== "GET" || !new URL(request.url).pathname.endsWith("/events")) return response;
    const page = await response.json();
    const { id: event, occurred_at, video } = page.data[0];
    page.data.unshift({ id: event, type: UNKNOWN, occurred_at, video, novelty: 1 });
    return new Response(JSON.stringify(page), { status: response.status, headers: response.headers });
};

interface Operation { name: string; method: string; path: string; hasId: boolean; hasQuery: boolean; body?: object }

const operations: Operation[] = Object.entries(document.paths as Record<string, Record<string, any>>).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({
        name: operation.operationId, method, path, hasId: path.includes("{id}"),
        hasQuery: operation.parameters.some((each: { $ref: string }) =>
            (document.components.parameters as Record<string, any>)[each.$ref.split("/").at(-1)!].in === "query"),
        // An unknown code: the status is 400 or 401, which shows that the request arrived in a form that the server reads.
        ...(operation.requestBody && { body: { grant_type: "authorization_code", code: "x", redirect_uri: "https://app.example/", token: "x",
            client_id: "app_unknown", code_verifier: "v".repeat(43) } }),
    })));

type Result = { status: number; data?: any };
type Client = (operation: Operation) => Promise<Result>;

const fetchClient = createClient<paths>({ baseUrl: base, headers }) as any;
const heyClient = createHeyClient({ baseUrl: base, headers });
const api = new Api({ baseUrl: base, baseApiParams: { headers } }) as any;
const zodios = createApiClient(base, { axiosConfig: { adapter: "fetch", headers } }) as any;
// It validates the absent body of HEAD as void, but axios gives an empty string.
const zodiosHead = createApiClient(base, { validate: "request", axiosConfig: { adapter: "fetch", headers } }) as any;

function find(object: any, name: string): any {
    if (typeof object[name] === "function") return object[name];
    return Object.values(object).find((group: any) => group && typeof group[name] === "function" && group)?.[name as never];
}

function positional({ hasId, hasQuery, body }: Operation) {
    return [...(hasId ? [id] : []), ...(body ? [body] : []), ...(hasQuery ? [{}] : [])];
}

const clients: Record<string, Client> = {
    "openapi-fetch": async (o) => {
        const { response, data } = await fetchClient[o.method.toUpperCase()](o.path, { params: { path: { id } }, body: o.body,
            parseAs: o.path === "/stats.csv" ? "text" : "json" });
        return { status: response.status, data };
    },
    "hey-api": async (o) => {
        const { response, data } = await (hey as any)[o.name]({ client: heyClient, path: { id }, body: o.body });
        if (o.name === "listEvents") heyZod.zListEventsResponse.parse(data);
        return { status: response.status, data };
    },
    orval: async (o) => {
        const { status, data } = await (orval as any)[o.name](...positional(o), { headers });
        if (o.name === "listEvents") orvalZod.ListEventsResponse.parse(data);
        return { status, data };
    },
    "swagger-typescript-api": async (o) => {
        const query = o.hasQuery ? [{}] : [];
        const args = [...(o.hasId ? [id] : []), ...(o.body ? [o.body] : query)];
        const response = await find(api, o.name)(...args, {}).catch((failed: unknown) => failed);
        return { status: response.status, data: response.data };
    },
    "openapi-zod-client": async (o) => {
        try {
            const config = { params: { id } };
            const client = o.method === "head" ? zodiosHead : zodios;
            return { status: 200, data: await (o.body ? client[o.name](o.body, config) : client[o.name](config)) };
        } catch (error) {
            if (axios.isAxiosError(error) && error.response) return { status: error.response.status };
            throw error;
        }
    },
    oazapfts: async (o) => {
        const args = [...(o.hasId ? [id] : []), ...(o.body ? [o.body] : [])];
        return (oazapfts as any)[o.name](...args, {}, { baseUrl: base, headers });
    },
};

const results: Record<string, Record<string, number | string>> = {};
for (const [name, call] of Object.entries(clients)) {
    results[name] = {};
    for (const operation of operations) {
        try {
            const { status, data } = await call(operation);
            results[name][operation.name] = status;
            if (operation.name === "listEvents" && data?.data?.[0]?.type !== UNKNOWN) throw new Error("the unknown event is missing");
        } catch (error) {
            results[name][operation.name] = String(error).slice(0, 300);
        }
    }
}
console.log(JSON.stringify(results));

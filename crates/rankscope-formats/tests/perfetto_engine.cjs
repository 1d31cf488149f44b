// Asks Perfetto's trace processor about a file, without a browser and without a network.
//
//   node perfetto_engine.cjs ENGINE_FOLDER TRACE SQL...
//
// ENGINE_FOLDER holds the WebAssembly build and the worker script that drives it, as the Perfetto user interface ships them.
// Each query gives one line: a JSON array of rows, each an array of texts. The worker script believes to be in a browser; what
// it looks for there is put in place first. Requests and replies are protobuf messages of the engine's byte pipe.
'use strict';

const fs = require('fs');
const path = require('path');
const vm = require('vm');

// Methods and fields of TraceProcessorRpc.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const FATAL_ERROR = 5, APPEND_DATA = 101, QUERY_ARGS = 103, APPEND_RESULT = 201, QUERY_RESULT = 203;
const CHUNK_BYTES = 16 << 20;

function varint(value) {
  const bytes = [];
  for (let rest = BigInt(value); ; rest >>= 7n) {
    if (rest < 128n) return Buffer.from([...bytes, Number(rest)]);
    bytes.push(Number(rest & 127n) | 128);
  }
}

const number = (field, value) => Buffer.concat([varint(field << 3), varint(value)]);
const message = (field, body) => Buffer.concat([varint((field << 3) | 2), varint(body.length), body]);

class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  varint() {
    let value = 0n;
    for (let shift = 0n; this.at < this.bytes.length; shift += 7n) {
      const byte = this.bytes[this.at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
    }
    return null;
  }

  take(length) {
    if (this.at + length > this.bytes.length) return null;
    this.at += length;
    return this.bytes.subarray(this.at - length, this.at);
  }

  *fields() {
    while (this.at < this.bytes.length) {
      const tag = Number(this.varint());
      const wire = tag & 7;
      const value = wire === 0 ? this.varint() : this.take(wire === 2 ? Number(this.varint()) : wire === 1 ? 8 : 4);
      yield [tag >> 3, value];
    }
  }
}

const fieldsOf = (bytes) => [...new Reader(bytes).fields()];
const first = (fields, wanted) => fields.find(([field]) => field === wanted)?.[1];

class Engine {
  constructor(folder) {
    disguise(folder);
    const names = ['engine_bundle.js', 'engine_bundle.node.js'].map((name) => path.join(folder, name));
    const bundle = names.find((name) => fs.existsSync(name));
    vm.runInThisContext(fs.readFileSync(bundle, 'utf8'), {filename: bundle});
    const {port1, port2} = new MessageChannel();
    globalThis.onmessage({data: port1});
    this.port = port2;
    this.sequence = 0;
    this.pending = Buffer.alloc(0);
    this.replies = [];
    this.wake = () => {};
    port2.onmessage = ({data}) => this.receive(Buffer.from(data));
  }

  receive(bytes) {
    this.pending = Buffer.concat([this.pending, bytes]);
    for (;;) {
      const reader = new Reader(this.pending);
      if (reader.varint() === null) break;
      const length = reader.varint();
      const body = length === null ? null : reader.take(Number(length));
      if (body === null) break;
      this.pending = this.pending.subarray(reader.at);
      this.replies.push(fieldsOf(body));
    }
    this.wake();
  }

  send(method, extra = Buffer.alloc(0)) {
    const body = Buffer.concat([number(1, this.sequence++), number(2, method), extra]);
    this.port.postMessage(new Uint8Array(message(1, body)));
  }

  async reply() {
    while (this.replies.length === 0) await new Promise((resolve) => (this.wake = resolve));
    const fields = this.replies.shift();
    const fatal = first(fields, FATAL_ERROR);
    if (fatal) throw new Error(String(fatal));
    return fields;
  }

  async load(file) {
    const bytes = fs.readFileSync(file);
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) {
      this.send(APPEND, message(APPEND_DATA, bytes.subarray(from, from + CHUNK_BYTES)));
      const result = first(await this.reply(), APPEND_RESULT) ?? Buffer.alloc(0);
      const error = first(fieldsOf(result), 2);
      if (error) throw new Error(String(error));
    }
    this.send(FINALIZE);
    await this.reply();
  }

  async query(sql) {
    this.send(QUERY, message(QUERY_ARGS, message(1, Buffer.from(sql))));
    const columns = [], values = [];
    for (let last = false; !last; ) {
      const result = fieldsOf(first(await this.reply(), QUERY_RESULT));
      const error = first(result, 2);
      if (error) throw new Error(`${sql}: ${error}`);
      for (const [field, value] of result) {
        if (field === 1) columns.push(String(value));
        if (field === 3) last = cells(fieldsOf(value), values) || last;
      }
    }
    const rows = [];
    for (let at = 0; at < values.length; at += columns.length) rows.push(values.slice(at, at + columns.length));
    return rows;
  }
}

// A batch holds a list of cell types and, apart from it, the values of each type in their order.
function cells(batch, values) {
  const integers = [], doubles = [], blobs = [];
  let types = [], texts = [];
  for (const [field, value] of batch) {
    if (field === 1) types = [...value];
    if (field === 2) {
      for (const reader = new Reader(value); reader.at < value.length; ) integers.push(BigInt.asIntN(64, reader.varint()));
    }
    if (field === 3) for (let at = 0; at < value.length; at += 8) doubles.push(value.readDoubleLE(at));
    if (field === 4) blobs.push('blob');
    if (field === 5) texts = String(value).split('\0');
  }
  const lists = [null, null, integers, doubles, texts, blobs];
  for (const type of types) values.push(lists[type] ? String(lists[type].shift()) : null);
  return Boolean(first(batch, 6));
}

function disguise(folder) {
  process.type = 'renderer';
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope = function WorkerGlobalScope() {};
  globalThis.importScripts = () => {};
  Object.defineProperty(globalThis, 'location', {value: {href: 'http://localhost/'}, configurable: true});
  globalThis.XMLHttpRequest = class {
    open(_method, url) {
      this.file = path.join(folder, path.basename(url));
    }

    send() {
      const bytes = fs.readFileSync(this.file);
      this.status = 200;
      this.response = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
    }
  };
}

async function main([folder, file, ...queries]) {
  const out = console.log;
  console.log = console.error;
  const engine = new Engine(path.resolve(folder));
  await engine.load(file);
  for (const sql of queries) out(JSON.stringify(await engine.query(sql)));
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});

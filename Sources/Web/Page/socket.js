// SPDX-License-Identifier: GPL-2.0-or-later
// The way to tactus: lines of JSON, each one OSC message. It comes back by itself, and says what did not get through.
import { on } from "./hands.js";

const timing = {
	probe: 1200, // a try that has no answer by then is given up
	again: 400, // between two tries while somebody looks
	hidden: 5000, // and while nobody does
	ping: 700, // and a look late: well before it would seem stale
	stale: 1300, // without an answer for so long, nothing is sent any more
	dead: 2600, // and the connection is given up
	burst: 10,
	full: 2000, // between two wishes to be told what changes
	knock: 2600, // one keeps the next waiting
};
// Its fetch waits for the connection of one that was given up, for many seconds; its sockets do not.
const isChromium = /Chrome\//.test(navigator.userAgent);

export class Connection {
	state = "connecting";
	socket = null;
	timer = 0;
	lastHeard = 0;
	lastPing = 0;
	isStuck = false;
	isDeaf = false;
	// Sent since the last ping that was answered: these may not have arrived.
	unanswered = [];

	// `hears`: session, message, pong, state and lost
	constructor(hears) {
		this.hears = hears;
		on(window, "online pageshow", () => this.hurry());
		on(document, "visibilitychange", () => !document.hidden && this.hurry());
		setInterval(() => this.look(), 250);
		this.open();
	}

	get isLive() {
		return this.state === "live" && this.socket?.readyState === WebSocket.OPEN;
	}

	// Asks by HTTP first: browsers make whoever fails often at WebSockets wait for seconds.
	async open() {
		clearTimeout(this.timer);
		const number = (this.number = (this.number ?? 0) + 1);
		const patience = new AbortController();
		const bell = setTimeout(() => patience.abort(), timing.probe);
		if (isChromium && this.isStuck) this.knock();
		try {
			const answer = await fetch("/session", { signal: patience.signal, cache: "no-store" });
			if (!answer.ok) throw new Error(answer.statusText);
			const session = await answer.json();
			if (number !== this.number) return;
			this.hears.session(session);
			if (!this.socket) this.connect();
		} catch {
			if (number !== this.number) return;
			this.isStuck = patience.signal.aborted;
			this.later();
		} finally {
			clearTimeout(bell);
		}
	}

	knock() {
		const socket = new WebSocket(`ws://${location.host}/osc`);
		socket.onopen = () => {
			if (this.socket) return socket.close();
			this.connect(socket);
			socket.onopen();
		};
		setTimeout(() => this.socket !== socket && socket.close(), timing.knock);
	}

	later() {
		clearTimeout(this.timer);
		// Sixteen phones do not come all at once.
		const wait = document.hidden ? timing.hidden : timing.again * (0.75 + Math.random() / 2);
		this.timer = setTimeout(() => this.open(), wait);
	}

	hurry() {
		if (this.socket?.readyState === WebSocket.OPEN) this.ping();
		else if (!this.socket) this.open();
	}

	connect(socket = new WebSocket(`ws://${location.host}/osc`)) {
		this.socket = socket;
		this.began = performance.now();
		socket.onopen = () => {
			this.lastHeard = performance.now();
			this.lastPing = 0;
			this.subscribe();
			for (let n = 0; n < timing.burst; n += 1) setTimeout(() => this.socket === socket && this.ping(), n * n * 9);
			this.become("live");
		};
		socket.onmessage = (event) => {
			const heard = performance.now();
			for (const line of String(event.data).split("\n")) if (line) this.take(line, heard);
		};
		socket.onclose = () => {
			if (this.socket === socket) this.drop();
		};
	}

	// Asked again until it is granted: too many may be told already, and a refusal may be lost.
	subscribe() {
		clearTimeout(this.again);
		if (this.socket?.readyState !== WebSocket.OPEN) return;
		this.put("subscribe", ["state exact"]);
		this.again = setTimeout(() => this.subscribe(), timing.full);
	}

	// Deaf: what changes is told to others.
	hear(isDeaf) {
		clearTimeout(this.again);
		if (isDeaf) this.again = setTimeout(() => this.subscribe(), timing.full);
		if (this.isDeaf === isDeaf) return;
		this.isDeaf = isDeaf;
		this.hears.state(this.state);
	}

	take(line, heard) {
		const [address, ...values] = JSON.parse(line);
		const path = address.replace(/^\/tactus\//, "");
		this.lastHeard = heard;
		if (path === "pong") {
			const [sent, count] = String(values[4]).split(" ").map(Number);
			this.unanswered = this.unanswered.filter((one) => one.count > count);
			this.hears.pong(sent, values[3], heard);
		} else if (path === "subscribed" || (path === "error" && values[1] === "/tactus/subscribe")) {
			this.hear(path === "error");
		} else {
			this.hears.message(path, values);
		}
		if (this.state === "stale") this.become("live");
	}

	// false: refused, because nobody would hear it.
	send(path, values = []) {
		if (!this.isLive) return false;
		this.count = (this.count ?? 0) + 1;
		this.unanswered.push({ path, count: this.count });
		this.put(path, values);
		if (performance.now() - this.lastPing > 60) this.ping();
		return true;
	}

	put(path, values) {
		this.socket.send(JSON.stringify([`/tactus/${path}`, ...values]));
	}

	ping() {
		if (this.socket?.readyState !== WebSocket.OPEN) return;
		this.lastPing = performance.now();
		this.put("ping", [`${this.lastPing} ${this.count ?? 0}`]);
	}

	// Four times a second: is it still there?
	look() {
		const now = performance.now();
		const socket = this.socket;
		if (!socket) return;
		if (socket.readyState !== WebSocket.OPEN) {
			if (now - this.began > timing.probe) this.drop();
			return;
		}
		if (now - this.lastPing > timing.ping) {
			// After a sleep of the page the first word is ours, not a verdict.
			if (now - this.lastPing > timing.dead) this.lastHeard = now - timing.ping;
			this.ping();
		}
		if (now - this.lastHeard > timing.dead) this.drop();
		else if (now - this.lastHeard > timing.stale && this.state === "live") this.become("stale");
	}

	drop() {
		const socket = this.socket;
		this.socket = null;
		this.isDeaf = false;
		if (socket) {
			socket.onopen = socket.onmessage = socket.onclose = null;
			socket.close();
		}
		const missed = this.unanswered.map((one) => one.path);
		this.unanswered = [];
		this.become("lost");
		if (missed.length > 0) this.hears.lost(missed);
		this.open();
	}

	// With another cookie, for instance.
	renew() {
		if (this.socket) this.drop();
		else this.hurry();
	}

	become(state) {
		if (this.state === state) return;
		this.state = state;
		this.hears.state(state);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
// The connection to tactus: lines of JSON, one OSC message each. It reconnects by itself and reports lost
// orders.
import { on } from "./hands.js";

const timing = {
	// Milliseconds, as all of these: an attempt to connect without an answer is given up.
	probe: 1200,
	// Between two attempts to connect while the page is visible.
	again: 400,
	// Between two attempts to connect while the page is hidden.
	hidden: 5000,
	// Between two pings; if one check comes late, this is still well before `stale`.
	ping: 700,
	// After this time without an answer nothing is sent any more.
	stale: 1300,
	// After this time without an answer the connection is given up.
	dead: 2600,
	burst: 10,
	// Between two attempts to subscribe.
	full: 2000,
	// An attempt to open a WebSocket is given up, since it delays the next attempt.
	knock: 2600,
};
// After a timeout, Chromium's next fetch waits many seconds for the abandoned connection. Chromium's
// WebSockets do not wait for it.
const isChromium = /Chrome\//.test(navigator.userAgent);

export class Connection {
	state = "connecting";
	socket = null;
	timer = 0;
	lastHeard = 0;
	lastPing = 0;
	isStuck = false;
	isDeaf = false;
	// Orders since the last answered ping, which may not have arrived.
	unanswered = [];

	// `hears`: handlers for session, message, pong, state and lost.
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

	// Asks by HTTP first: browsers delay WebSockets that fail often by seconds.
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
		// A random wait, so that sixteen phones don't come at the same time.
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

	// Repeats until granted: the limit of subscribers may be reached, or the refusal lost.
	subscribe() {
		clearTimeout(this.again);
		if (this.socket?.readyState !== WebSocket.OPEN) return;
		this.put("subscribe", ["state exact"]);
		this.again = setTimeout(() => this.subscribe(), timing.full);
	}

	// `isDeaf`: tactus refused our subscription because it has too many subscribers. We ask again and again.
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

	// Returns false if the message could not be sent.
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

	// Checks the connection four times a second.
	look() {
		const now = performance.now();
		const socket = this.socket;
		if (!socket) return;
		if (socket.readyState !== WebSocket.OPEN) {
			if (now - this.began > timing.probe) this.drop();
			return;
		}
		if (now - this.lastPing > timing.ping) {
			// After a sleep of the page, ping first and judge later.
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

	// Opens a new socket, for instance with another cookie.
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

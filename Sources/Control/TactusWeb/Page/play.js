// SPDX-License-Identifier: GPL-2.0-or-later
// The page for the stage: tempo, beat, transport. All motion is drawn from the clock, frame by frame.
import { follow } from "./controls.js";
import { $, make, memory, refuse, short, tell, toast } from "./desk.js";
import { held, on, struck, whileHeld } from "./hands.js";
import { letterOf } from "./session.js";

// The part of the tempo by which push and pull change it.
const bend = 0.03;
// A whole note to a 32nd.
const units = [1, 2, 4, 8, 16, 32];
const mostNotes = 64;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const bars = (count) => `${count} bar${count > 1 ? "s" : ""}`;

export class Play {
	isLocked = memory.get("lock", false);
	bent = null;
	orderedAt = -Infinity;
	toldAt = 0;
	taps = 0;
	was = {};

	// The clock gives the time of a tap.
	constructor(desk, session, clock) {
		Object.assign(this, { desk, session, clock });
		this.tempo();
		this.hands();
		this.meter();
		this.transport();
		this.locks();
		for (const path of ["click/pattern", "click/subdivision"]) desk.watch(path, () => this.accents());
	}

	// The field for a typed tempo.
	tempo() {
		const box = $("tempo");
		const show = () => {
			const tempo = this.desk.value("tempo");
			if (box.dataset.typed) return;
			box.value = tempo === undefined ? "–" : Number(tempo.toFixed(2));
			box.classList.toggle("long", box.value.length > 5);
			if (document.activeElement === box) box.select();
		};
		this.desk.watch("tempo", () => {
			this.toldAt = performance.now();
			show();
		});
		on(box, "focus", () => box.select());
		on(box, "blur", () => {
			const text = box.dataset.typed && box.value;
			delete box.dataset.typed;
			if (text !== undefined) this.type(text);
			show();
		});
		on(box, "input", () => (box.dataset.typed = "yes"));
		on(box, "keydown", (event) => {
			if (event.key === "Escape") delete box.dataset.typed;
			if (event.key === "Enter" || event.key === "Escape") box.blur();
			const turn = { ArrowUp: "tempo/up", ArrowDown: "tempo/down" }[event.key];
			if (!turn) return;
			event.preventDefault();
			delete box.dataset.typed;
			this.change(turn, [1], box);
		});
	}

	type(text) {
		const tempo = Number(text.trim().replace(",", "."));
		if (!(tempo >= 20 && tempo <= 999)) return refuse($("tempo"), `${text.trim() || "Nothing"} is no tempo: 20 to 999 BPM.`);
		this.change("tempo", [tempo], $("tempo"));
	}

	// The buttons plus, minus, tap, push and pull.
	hands() {
		whileHeld($("tempo-up"), () => this.change("tempo/up", [1], $("tempo-up")));
		whileHeld($("tempo-down"), () => this.change("tempo/down", [1], $("tempo-down")));
		const press = (id, path, values = [1]) => on($(id), "click", () => this.change(path, values, $(id)));
		press("half", "tempo/half");
		press("double", "tempo/double");
		struck($("tap"), (at) => this.tap(at));
		held($("push"), (isHeld) => this.bendBy(isHeld ? 1 + bend : 0, $("push")));
		held($("pull"), (isHeld) => this.bendBy(isHeld ? 1 - bend : 0, $("pull")));
	}

	// `at`: the time of the touch on this browser's clock, not the time of its handling.
	tap(at) {
		const pad = $("tap");
		const host = this.clock.hostAt(at);
		if (!this.change("tempo/tap", host === null ? [1] : [1, Math.round(host)], pad)) return;
		this.taps = at - (this.lastTap ?? 0) > 3200 ? 1 : this.taps + 1;
		this.lastTap = at;
		$("tap-told").textContent = this.taps < 2 ? "again, in time" : `${this.taps} taps`;
		clearTimeout(this.tapTimer);
		this.tapTimer = setTimeout(() => ($("tap-told").textContent = "the tempo"), 3200);
		pad.classList.remove("struck");
		void pad.offsetWidth;
		pad.classList.add("struck");
	}

	// Sends a tempo order. Until tactus confirms it, the shown tempo is the old one.
	change(path, values, by) {
		if (path.startsWith("tempo")) this.orderedAt = performance.now();
		return this.desk.order(path, values, by);
	}

	// Makes the tempo faster or slower while a button is held, to meet a drummer. Afterwards the old tempo
	// returns, unless another user has set a tempo meanwhile.
	bendBy(factor, button) {
		button.classList.toggle("held", factor !== 0);
		clearTimeout(this.bendTimer);
		const tempo = this.desk.value("tempo");
		if (factor !== 0) {
			if (this.bent || tempo === undefined) return;
			const ago = performance.now() - this.orderedAt;
			if (ago < 120 || (ago < 1000 && this.toldAt < this.orderedAt)) {
				this.bendTimer = setTimeout(() => this.bendBy(factor, button), 30);
				return;
			}
			const to = Math.min(999, Math.max(20, Number((tempo * factor).toFixed(2))));
			if (this.change("tempo", [to], button)) this.bent = { from: Number(tempo.toFixed(4)), to };
		} else if (this.bent) {
			const { from, to } = this.bent;
			const isOurs = Math.abs(tempo - from) < 0.01 || Math.abs(tempo - to) < 0.01;
			if (isOurs && !this.change("tempo", [from], button)) return;
			this.bent = null;
		}
	}

	// If tactus refused to end a bend, we send the end again, as long as no other user has set a tempo.
	connected() {
		const button = this.bent && $("push");
		if (button && !$("push").classList.contains("held") && !$("pull").classList.contains("held")) this.bendBy(0, button);
	}

	// The meter: buttons step the number of notes in a bar, and a list chooses their length.
	meter() {
		const unit = $("meter-unit");
		for (const length of units) unit.append(new Option(length, length));
		let wanted = [4, 4];
		const show = () => ([$("meter").value, unit.value] = wanted);
		const following = follow(this.desk, "meter", (values) => {
			wanted = values;
			show();
		});
		const change = (count, length, by) => {
			if (count < 1 || count > mostNotes) return false;
			wanted = [count, length];
			show();
			following.choose(wanted, by);
			return wanted[0] === count;
		};
		whileHeld($("meter-up"), () => change(wanted[0] + 1, wanted[1], $("meter-up")));
		whileHeld($("meter-down"), () => change(wanted[0] - 1, wanted[1], $("meter-down")));
		on(unit, "change", () => change(wanted[0], Number(unit.value), unit));
	}

	transport() {
		const toggle = $("toggle");
		struck(toggle, () => this.desk.order("toggle", [1], toggle));
		on($("rewind"), "click", () => this.desk.order("rewind", [1], $("rewind")));
		for (let n = 1; n <= 4; n += 1) $("count-in").append(new Option(bars(n), n));
		for (const [id, path, read] of [["launch", "launch", String], ["count-in", "count/in", Number]]) {
			const box = $(id);
			this.desk.watch(path, ([value]) => (box.value = value));
			on(box, "change", () => {
				if (!this.desk.order(path, [read(box.value)], box)) box.value = this.desk.value(path);
			});
		}
		const show = () => {
			const { state } = this.session.song;
			const stops = this.desk.value("transport/state") === "stopping" ? this.desk.value("status", "") : "";
			toggle.dataset.song = state;
			toggle.querySelector("use").setAttribute("href", state === "stopped" ? "#i-start" : "#i-stop");
			if (state !== "waiting") $("toggle-word").textContent = state === "stopped" ? "Start" : "Stop";
			const told = state === "stopped" ? this.whenStarted() : state === "waiting" ? "to the start · stop" : stops;
			$("toggle-told").textContent = told;
			if (state !== this.was.state && this.was.state) {
				tell({ stopped: "Stopped.", waiting: "Waiting to start.", rolling: "Playing." }[state]);
			}
			if (state !== this.was.state) this.wait = this.was.left = 0;
			this.was.state = state;
		};
		for (const path of ["song", "status", "transport/state", "launch", "count/in", "transport/start", "jack/connected"]) this.desk.watch(path, show);
	}

	whenStarted() {
		if (this.desk.value("jack/connected") === 0) return "no JACK server";
		const [launch, , note] = this.desk.values.get("transport/start") ?? ["bar"];
		const wait = this.desk.value("count/in", 0);
		if (launch === "now") return "at once";
		if (wait > 0) return `after ${bars(wait)}`;
		return launch === "bar" && note > 1 ? `${note % 1 ? "in" : "on"} beat ${Math.floor(note)} of the bar` : `on the ${launch}`;
	}

	// Unlocking takes half a second of holding, or a key, so that a sleeve that touches the screen does not
	// unlock.
	locks() {
		const lock = $("lock");
		const show = () => {
			lock.setAttribute("aria-pressed", String(this.isLocked));
			lock.querySelector("use").setAttribute("href", this.isLocked ? "#i-lock" : "#i-open");
			this.applyLock();
			memory.set("lock", this.isLocked);
		};
		const turn = (isLocked) => {
			this.isLocked = isLocked;
			show();
			tell(isLocked ? "Tempo, meter and quantum are locked." : "Tempo, meter and quantum are open.");
		};
		let timer = 0;
		let hasTurned = false;
		held(lock, (isHeld, { type }) => {
			if (!isHeld) {
				lock.classList.remove("opening");
				clearTimeout(timer);
				if (!hasTurned) toast("Hold the lock for half a second to open it.");
				return;
			}
			hasTurned = type !== "pointerdown" || !this.isLocked;
			if (hasTurned) return turn(!this.isLocked);
			lock.classList.add("opening");
			timer = setTimeout(() => {
				lock.classList.remove("opening");
				hasTurned = true;
				turn(false);
			}, 500);
		});
		show();
	}

	// Look the controls up now: other sections may have built some of them meanwhile.
	applyLock(within = document) {
		for (const control of within.querySelectorAll("[data-locks]")) {
			if (control.id === "tempo") control.readOnly = this.isLocked;
			else control.disabled = this.isLocked;
		}
	}

	// Draws a frame, and touches only elements that changed.
	draw(moment) {
		const { was } = this;
		const row = $("beats");
		if (was.length !== moment.length) this.rebuild(row, moment.length);
		const slow = calm.matches;
		if (was.beat !== moment.beat) {
			for (let n = 0; n < row.children.length; n += 1) {
				const list = row.children[n].classList;
				list.toggle("now", n === moment.beat);
				list.toggle("past", n < moment.beat);
			}
			row.dataset.beat = moment.beat + 1;
			$("beat-number").textContent = moment.beat + 1;
			was.beat = moment.beat;
		}
		// The beat fades while it lasts, but never so far that the number on it becomes unreadable.
		const glow = slow ? 1 : Math.round((1 - 0.38 * Math.min(1, 2 * moment.part)) * 50) / 50;
		if (was.glow !== glow || was.glowing !== moment.beat) {
			row.children[moment.beat]?.style.setProperty("--glow", glow);
			[was.glow, was.glowing] = [glow, moment.beat];
		}
		const phase = (slow ? moment.beat + 1 : moment.inBar) / moment.length;
		if (was.phase !== phase) $("phase").style.transform = `scaleX(${phase.toFixed(4)})`;
		was.phase = phase;
		if (was.bar !== moment.bar) $("bar").textContent = short((was.bar = moment.bar));
		this.drawWait(moment.wait);
	}

	drawWait(wait) {
		const left = Math.ceil(wait);
		if (wait > 0) this.wait = Math.max(this.wait || 0, wait);
		if (this.was.left !== left) {
			this.was.left = left;
			if (left > 0) $("toggle-word").textContent = left;
		}
		const filled = wait > 0 && this.wait > 0 ? 1 - wait / this.wait : 0;
		if (this.was.filled !== filled) $("toggle").querySelector(".fill").style.transform = `scaleX(${filled.toFixed(3)})`;
		this.was.filled = filled;
	}

	rebuild(row, length) {
		row.replaceChildren();
		for (let n = 0; n < length; n += 1) {
			row.append(make(n === 0 ? "div.beat first" : "div.beat", {}, make("span", {}, n + 1)));
		}
		const columns = length <= 8 ? length : length > 32 ? 16 : length % 6 ? 8 : 6;
		row.style.setProperty("--columns", columns);
		row.className = length > 24 ? "most" : length > 8 ? "many" : "";
		this.was = { state: this.was.state, length };
		this.accents();
	}

	// Marks the beats whose click is an accent.
	accents() {
		const pattern = this.desk.value("click/pattern", "");
		const each = this.desk.value("click/subdivision", 1);
		[...$("beats").children].forEach((beat, n) => beat.classList.toggle("accent", letterOf(pattern, n * each) === "X"));
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
// The page: connects its parts and shows the state of the connection.
import { Awake } from "./awake.js";
import { PhoneClick } from "./click.js";
import { Clock } from "./clock.js";
import { $, Desk, short, tell, toast, watching } from "./desk.js";
import { on } from "./hands.js";
import { Play } from "./play.js";
import { Sections } from "./sections.js";
import { Session } from "./session.js";
import { Connection } from "./socket.js";
import { showSongs } from "./songs.js";
import { startTabs, show as showTab } from "./tabs.js";
import { Trouble } from "./trouble.js";

const alone = 10_000;
const goesOn = "The beat goes on, but your changes are not sent.";
// The error code for a browser that is not paired.
const notPaired = 7;
// Milliseconds; some screens refresh faster, and some browsers draw less often.
const screenTurn = 1000 / 60;
// In milliseconds. A longer frame means that frames were dropped or the page was hidden.
const longestFrame = 40;

const desk = new Desk();
const session = new Session();
const clock = new Clock();
const click = new PhoneClick(clock, session);
const awake = new Awake();
const play = new Play(desk, session, clock);
let lostAt = null;
// The tactus that sent this page: name and version.
let known = null;
// The tactus that answers now.
let met = null;

function message(path, values) {
	if (path === "timeline") {
		const before = session.timeline;
		const isOther = !before || Math.abs(session.beatAt(values[2]) - values[1]) > 0.02;
		session.setTimeline(values);
		if (isOther || before.tempo !== values[0]) click.revise(isOther);
	} else if (path === "song") {
		session.setSong(values);
		click.revise();
	} else if (path === "meter") {
		session.setMeter(values);
		click.revise();
	} else if (path === "error") {
		toast(values[0]);
		if (values[2] === notPaired) setPaired(false);
		return;
	} else if (path === "bye") {
		toast("tactus has ended.");
		return;
	} else if (path === "proof") {
		connection.put("proof", values);
		return;
	}
	desk.take(path, values);
}

function setPaired(isPaired) {
	desk.isPaired = isPaired;
	document.body.dataset.paired = String(isPaired);
	sayConnection();
}

// Shows one line below the head while there is something to say.
function sayConnection() {
	const banner = $("connection");
	const { state } = connection;
	const away = lostAt === null ? 0 : performance.now() - lostAt;
	const shown = state === "lost" && away > alone ? "alone" : state === "live" && connection.isDeaf ? "deaf" : state;
	const text = {
		connecting: "Looking for tactus …",
		stale: `No answer. ${goesOn}`,
		lost: session.timeline ? `Connection lost. ${goesOn}` : "tactus does not answer yet.",
		alone: "Alone: this device keeps the beat by itself. If tactus has a new address, scan its code.",
		deaf: "Too many browsers are connected: this one shows nothing new until another disconnects.",
		live: desk.isPaired ? "" : watching,
	}[shown];
	if (document.body.dataset.connection !== shown && shown !== "connecting") {
		tell({ live: "Connected.", deaf: text, stale: "", lost: "Connection lost.", alone: "Alone." }[shown] || "");
	}
	document.body.dataset.connection = shown;
	if (banner.textContent !== text) banner.textContent = text;
	banner.hidden = text === "";
	$("pair").hidden = shown !== "live" || desk.isPaired;
	$("other").hidden = desk.warning === "" || text !== "";
	$("other").textContent = desk.warning;
}

// After a restart another tactus may be at this address, or another version.
function meet(name, version) {
	met = { name, version };
	known ??= met;
	$("name").textContent = document.title = name;
	desk.warning = name === known.name ? "" : `${name} is at this address now, not ${known.name}. Touch this line to use ${name}.`;
	if (desk.warning) return tell(desk.warning);
	if (version === known.version) return;
	// A reloaded page is silent until it is touched.
	if (!click.isOn) return location.reload();
	toast("tactus now runs in another version: reload this page when its click may pause.");
}
on($("other"), "click", () => {
	known = { name: met.name, version: known.version };
	meet(met.name, met.version);
	sayConnection();
});

const connection = new Connection({
	session({ paired, name, version }) {
		meet(name || "tactus", version);
		setPaired(paired === true);
	},
	message,
	pong(sent, host, heard) {
		clock.add(sent, host / 1000, heard);
	},
	state(state) {
		if (state === "live") {
			if (lostAt !== null) clock.renew();
			lostAt = null;
			sections.build();
			setTimeout(() => play.connected(), 300);
		} else if (state === "lost") {
			lostAt ??= performance.now();
		}
		sayConnection();
	},
	lost(paths) {
		const names = [...new Set(paths)].slice(0, 3).join(", ");
		toast(`The connection was just lost: ${names} may not have arrived.`);
	},
});
desk.connection = connection;

const sections = new Sections({ desk, session, clock, connection, click, awake, play });
const trouble = new Trouble(desk, (found) => {
	const box = $("trouble");
	box.hidden = found.length === 0;
	box.textContent = found.length > 1 ? `${found[0].words} And ${found.length - 1} more.` : found[0]?.words ?? "";
	sections.showTrouble(found);
});
sections.trouble = trouble;
$("trouble").addEventListener("click", () => {
	showTab("link");
	$("link").scrollTop = 0;
});
startTabs();
showSongs(desk, session);

desk.watch("peers/str", ([text]) => {
	const isNews = $("peers").textContent !== text && $("peers").textContent !== "…";
	$("peers").textContent = text;
	if (isNews) tell(text);
});
for (const path of ["lead/now", "lead/str"]) {
	desk.watch(path, () => ($("leader").textContent = desk.value("lead/now") === "link" ? "Link leads" : `${desk.value("lead/str", "?")} leads`));
}
for (const path of ["click/pattern", "click/subdivision", "click/when", "meter"]) {
	desk.watch(path, ([value]) => {
		const name = path.split("/")[1];
		if (name) click.settings[name] = value;
		click.revise(path !== "click/when");
	});
}

desk.watch("click/swing", ([swing]) => click.setSwing(swing));

setInterval(() => {
	sayConnection();
	const error = clock.errorAt(performance.now());
	const text = error === null ? "" : `±${error < 10 ? short(error, 1) : short(error, 0)} ms`;
	if ($("accuracy").textContent !== text) $("accuracy").textContent = text;
	if (connection.isLive) sections.build();
}, 1000);

// A frame appears at the screen's next refresh and lasts for one refresh period, so it shows the middle of
// that time.
let drawn = 0;
let each = screenTurn;
function frame(at) {
	requestAnimationFrame(frame);
	const took = at - drawn;
	drawn = at;
	if (took > 2 && took < longestFrame) each += (took - each) / 16;
	const host = clock.hostAt(at + Math.min(each, screenTurn) + each / 2);
	if (host === null || !session.timeline) return;
	const moment = session.at(host);
	play.draw(moment);
	sections.draw(moment);
}
requestAnimationFrame(frame);

// The QR code has a secret behind the #, which browsers send to no server. We take it out of the address and
// exchange it for a cookie, with which the socket is opened again.
async function pairByAddress() {
	const body = location.hash.slice(1);
	if (!body) return;
	history.replaceState(null, "", location.pathname);
	await pair(body);
}
addEventListener("hashchange", pairByAddress);
pairByAddress();

// The user enters the code alone, or the whole address with the code after its #.
on($("pair"), "submit", (event) => {
	event.preventDefault();
	const code = $("code").value.split("#").pop().trim().toUpperCase();
	if (code) pair(code);
});

async function pair(body) {
	const outcome = await fetch("/pair", { method: "POST", body, headers: { "Content-Type": "text/plain" } }).then(
		({ status }) => status,
		() => 0,
	);
	const words = {
		204: "Paired. This browser may now change everything.",
		403: "That code is not valid. Use the one that tactus shows now.",
		429: "Too many wrong codes. Wait a minute, then try again.",
	};
	toast(words[outcome] ?? "tactus did not answer. Try the code again when it runs.");
	if (outcome !== 204) return;
	$("code").value = "";
	connection.renew();
}

// For tests and for curious users. Times are those of performance.now(), beats the session's.
window.tactus = Object.freeze({
	beatAt(at) {
		const host = clock.hostAt(at);
		return host === null || !session.timeline ? null : session.beatAt(host);
	},
	get clock() {
		return { error: clock.errorAt(performance.now()), roundTrip: clock.roundTrip };
	},
	get state() {
		return { values: Object.fromEntries(desk.values), timeline: session.timeline };
	},
	get click() {
		return { missed: click.missed, offset: click.offset };
	},
});

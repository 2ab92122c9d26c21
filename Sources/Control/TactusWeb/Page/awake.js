// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps the screen on. Over plain HTTP no browser grants a wake lock, but none darkens a screen that plays a
// video. The video is silent, and as large as the page because browsers ignore small videos.
import { on } from "./hands.js";

export class Awake {
	isWanted = false;
	video = null;

	constructor() {
		on(document, "visibilitychange", () => this.play());
		// Some browsers let a video begin only at a touch.
		on(window, "pointerdown keydown", () => this.play());
	}

	get isPlaying() {
		return this.video !== null && !this.video.paused;
	}

	want(isWanted) {
		this.isWanted = isWanted;
		if (isWanted) this.play();
		else this.video?.pause();
	}

	async play() {
		if (!this.isWanted || document.hidden || this.isPlaying) return;
		this.video = await (this.film ??= film());
		this.video?.play().catch(() => {});
	}
}

// Loads a blob, because some browsers would request ranges of a file over HTTP.
async function film() {
	const video = document.createElement("video");
	Object.assign(video, { muted: true, loop: true, playsInline: true });
	video.setAttribute("aria-hidden", "true");
	video.className = "awake";
	try {
		video.src = URL.createObjectURL(await (await fetch("awake.mp4")).blob());
	} catch {
		return null;
	}
	// In some browsers the screen dims when a video loops by itself, but not after a seek.
	on(video, "timeupdate", () => {
		if (video.currentTime > video.duration - 0.4) video.currentTime = 0;
	});
	document.body.prepend(video);
	return video;
}

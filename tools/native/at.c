// SPDX-License-Identifier: GPL-2.0-or-later
// build: cc
// Starts a process on a host of a running lab, as `tools/lab at` and `$LAB on` do; tests start hundreds.
// Reads the file host-K in the lab's shared directory, which tools/lab has written: "NET MOUNTS" (descriptors
// of the host's namespaces in the lab's process 1, or -1 for the namespaces of process 1 itself) and the
// environment's variables, each ended by a zero byte.
//
// usage: at LAB HOST COMMAND...; LAB is the process id of a running tools/lab, or 0: the lab around us
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED "/dev/shm/.lab"

static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static pid_t child;

static void die(int status, const char *what, const char *name, const char *why) {
  fprintf(stderr, "lab: %s%s%s%s\n", what, name, *why ? ": " : "", why);
  _exit(status);
}

// The lab's process 1: the only child of `tools/lab`.
static int first_child(int lab) {
  char path[64];
  int found = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", lab, lab);
  FILE *file = fopen(path, "re");
  if (file && fscanf(file, "%d", &found) != 1) found = 0;
  if (file) fclose(file);
  return found;
}

static void enter_lab(const char *lab) {
  const int spaces = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWPID, first = first_child(atoi(lab));
  const int process = first ? pidfd_open(first, 0) : -1;
  // A process cannot enter the user namespace in which it is already, so try again without this one.
  if (process < 0 || (setns(process, spaces | CLONE_NEWUSER) < 0 && setns(process, spaces) < 0))
    die(2, "cannot enter lab ", lab, strerror(first ? errno : ENOENT));
}

static void enter_space(int descriptor) {
  char path[64];
  snprintf(path, sizeof path, "/proc/1/fd/%d", descriptor);
  int space = open(path, O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, 0) < 0) die(125, path, "", strerror(errno));
}

static void enter_host(const char *host) {
  char path[64];
  snprintf(path, sizeof path, SHARED "/host-%.20s", host);
  FILE *file = fopen(path, "r");
  if (!file) die(2, "no such host in the lab: ", host, "");
  char *text = NULL;
  size_t room = 0;
  int net, mounts;
  if (getdelim(&text, &room, 0, file) < 0 || sscanf(text, "%d %d", &net, &mounts) != 2) die(125, path, " is damaged", "");
  // putenv keeps the strings, so they are not freed.
  for (char *entry = NULL; room = 0, getdelim(&entry, &room, 0, file) > 0; entry = NULL) putenv(entry);
  fclose(file);
  if (net < 0) return;
  enter_space(net);
  enter_space(mounts);
}

static void become(char **command, const char *here) {
  if (chdir(here) < 0) die(126, here, "", strerror(errno));
  for (int number = 1; number < NSIG; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  execvp(command[0], command);
  die(errno == ENOENT ? 127 : 126, command[0], "", strerror(errno));
}

static void pass_on(int number) { kill(child, number); }

int main(int count, char **words) {
  if (count < 4) die(2, "usage: at LAB HOST COMMAND...", "", "");
  const char *lab = words[1], *host = words[2];
  char here[4096];
  if (!getcwd(here, sizeof here)) strcpy(here, "/");
  if (atoi(lab) == 0) {
    enter_host(host);
    become(words + 3, here);
  }
  enter_lab(lab);
  child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    putenv("LAB_DIR=" SHARED);
    if (access(SHARED, F_OK) < 0) die(2, lab, " is not a lab", "");
    enter_host(host);
    become(words + 3, here);
  }
  for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++) signal(passed_on[i], pass_on);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

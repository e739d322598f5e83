#ifndef SHARED_BANNED_H
#define SHARED_BANNED_H

/*
 * Functions that cannot be used safely, or whose safe use a reviewer cannot
 * see at the call.  The Makefile includes this header into every file of ours,
 * so that a use is a compile error.  The system headers come first: they
 * declare what is banned below.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(func) sorry_##func##_is_a_banned_function

#undef strcpy
#define strcpy(to, from) BANNED(strcpy)
#undef strcat
#define strcat(to, from) BANNED(strcat)
#undef strncpy
#define strncpy(to, from, n) BANNED(strncpy)
#undef strncat
#define strncat(to, from, n) BANNED(strncat)
#undef strtok
#define strtok(text, separators) BANNED(strtok)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(to, fmt, args) BANNED(vsprintf)
#undef atoi
#define atoi(text) BANNED(atoi)
#undef atol
#define atol(text) BANNED(atol)
#undef atof
#define atof(text) BANNED(atof)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef mktemp
#define mktemp(template) BANNED(mktemp)
#undef tmpnam
#define tmpnam(name) BANNED(tmpnam)
#undef system
#define system(command) BANNED(system)

#endif

#ifndef SHARED_VERSION_H
#define SHARED_VERSION_H

/* Of both programs; they are built and shipped together. */
#define OCTAP_VERSION "0.1.0"

#endif

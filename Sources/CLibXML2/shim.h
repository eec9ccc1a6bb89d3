#pragma once
#include <libxml/xmlversion.h>
// With this macro, libxml2's headers include ICU's headers, which conflict with Foundation's ICU.
// Without it, only the last members of xmlCharEncodingHandler are missing, and this program never
// creates or reads one.
#undef LIBXML_ICU_ENABLED
#include <libxml/HTMLparser.h>

// Wraps xmlFree, a global variable in libxml2, because Swift considers it shared mutable state.
static inline void tapedeck_xml_free(void *bytes) { xmlFree(bytes); }

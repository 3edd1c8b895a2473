// How fast libxml2 merely parses an export: its stream parser, with a handler that counts records.
//
//     xml-peer EXPORT
#include <fcntl.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static long records;

static void begin(void *context, const xmlChar *name, const xmlChar *prefix, const xmlChar *uri, int namespaces,
                  const xmlChar **namespace_list, int attributes, int defaulted, const xmlChar **attribute_list) {
    (void)context, (void)prefix, (void)uri, (void)namespaces, (void)namespace_list;
    (void)attributes, (void)defaulted, (void)attribute_list;
    if (!strcmp((const char *)name, "Record")) records++;
}

int main(int count, char **arguments) {
    static char buffer[1 << 18];
    int fd = count == 2 ? open(arguments[1], O_RDONLY) : -1;
    if (fd < 0) {
        fprintf(stderr, "usage: xml-peer EXPORT\n");
        return 64;
    }
    xmlSAXHandler handler = {.initialized = XML_SAX2_MAGIC, .startElementNs = begin};
    ssize_t size = read(fd, buffer, sizeof buffer);
    xmlParserCtxtPtr parser = xmlCreatePushParserCtxt(&handler, NULL, buffer, (int)size, NULL);
    xmlCtxtUseOptions(parser, XML_PARSE_HUGE);
    while ((size = read(fd, buffer, sizeof buffer)) > 0)
        if (xmlParseChunk(parser, buffer, (int)size, 0)) return 1;
    xmlParseChunk(parser, buffer, 0, 1);
    printf("records %ld\n", records);
    return 0;
}

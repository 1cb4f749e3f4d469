// Prints what a program finds about itself and in `/usr`.

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void show(const char *path) {
    char line[64] = "nothing\n";
    FILE *file = fopen(path, "r");
    if (file) {
        if (!fgets(line, sizeof line, file)) return;
        fclose(file);
    }
    printf("%s", line);
}

int main(void) {
    char link[PATH_MAX] = "", path[PATH_MAX] = "", start[8] = "";
    ssize_t length = readlink("/proc/self/exe", link, sizeof link - 1);
    printf("%s\n%s\n", link, realpath("/proc/self/exe", path) ? path : "nothing");
    printf("%d, ", (int)readlink("/proc/self/exe", start, 4) == 4 && start[3] == link[3] && start[4] == 0 && length > 4);
    printf("%d, %d\n", (int)readlink("/proc/self/nothing", link, sizeof link), realpath("/proc/self/nothing", NULL) != NULL);
    show("/usr/share/ferrocm-files/text");
    show("/usr/share/ferrocm-files/nothing");
    printf("%d, %d\n", access("/usr/share/ferrocm-files/text", R_OK), access("/usr/share/ferrocm-files/text", X_OK));
    return 0;
}

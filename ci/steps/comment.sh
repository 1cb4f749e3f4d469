#!/usr/bin/env bash
# Comments on the pull request what will not translate. Replaces the comment of an earlier build.
# shellcheck source=ci/steps/lib.sh
source "$(dirname "$0")/lib.sh"

# A text as a JSON string.
json() {
    local text=$1
    text=${text//\\/\\\\}
    text=${text//\"/\\\"}
    text=${text//$'\t'/\\t}
    text=${text//$'\r'/}
    printf '"%s"' "${text//$'\n'/\\n}"
}

call() {
    local method=$1 header=$2 address=$3
    shift 3
    curl --fail --silent --show-error --request "$method" --header "$header" --header 'Content-Type: application/json' "$@" "$address"
}

# The id of an earlier build's comment, from a list on the standard input in which `id` precedes `body`.
earlier() {
    tr -d '\n' | sed 's/{"url"/\n{"url"/g; s/{"id"/\n{"id"/g' | grep -F "fleet hipify $FLEET_COMPONENT " | grep -o '"id": *[0-9]*' | head -n 1 | tr -dc 0-9 || true
}

main() {
    local comment=$FLEET_OUT/comment.md
    if [[ ! -f $comment ]]; then
        echo "There are no findings to comment on."
        return
    fi
    if [[ $FLEET_EVENT != pull-request || $FLEET_SYSTEM == local ]]; then
        cat "$comment"
        return
    fi
    [[ -n $FLEET_CHANGE ]] || fail "the number of the pull request is not known (FLEET_CHANGE)"
    [[ -n $FLEET_TOKEN ]] || fail "there is no token to comment with (FLEET_TOKEN); docs/use/fleet.md says which rights it needs"
    if write; then
        echo "The comment is on pull request $FLEET_CHANGE."
    else
        # The token of a pull request from a fork may be read-only. The comment does not affect the result; the preceding step does.
        echo "warning: the comment cannot be written; its text:"
        cat "$comment"
    fi
}

write() {
    local text header comments number
    text=$(json "$(cat "$FLEET_OUT/comment.md")")
    case $FLEET_SYSTEM in
        github)
            header="Authorization: Bearer $FLEET_TOKEN"
            comments=$FLEET_API/repos/$FLEET_REPOSITORY/issues
            number=$(call GET "$header" "$comments/$FLEET_CHANGE/comments?per_page=100" | earlier) || return
            if [[ -n $number ]]; then
                call PATCH "$header" "$comments/comments/$number" --data "{\"body\": $text}"
            else
                call POST "$header" "$comments/$FLEET_CHANGE/comments" --data "{\"body\": $text}"
            fi
            ;;
        azure)
            call POST "Authorization: Bearer $FLEET_TOKEN" \
                "$FLEET_API/git/repositories/${FLEET_REPOSITORY##*/}/pullRequests/$FLEET_CHANGE/threads?api-version=7.1" \
                --data "{\"comments\": [{\"parentCommentId\": 0, \"content\": $text, \"commentType\": 1}], \"status\": 1}"
            ;;
        gitlab)
            header="PRIVATE-TOKEN: $FLEET_TOKEN"
            comments=$FLEET_API/projects/${FLEET_REPOSITORY//\//%2F}/merge_requests/$FLEET_CHANGE/notes
            number=$(call GET "$header" "$comments?per_page=100" | earlier) || return
            if [[ -n $number ]]; then
                call PUT "$header" "$comments/$number" --data "{\"body\": $text}"
            else
                call POST "$header" "$comments" --data "{\"body\": $text}"
            fi
            ;;
    esac > /dev/null
}

step "$0"

// tools/web.sh puts mediabunny's own module beside this file.
export * from 'mediabunny';
